"""The simulator of bolus.toml: a pull is a low- and a high-carb day of one virtual patient.

    surefoot run examples/bolus.toml          # find the setting with the best worst case
    python examples/bolus_simulator.py        # write the two tables of arms and errors anew, after
    a change here

Research on virtual patients. Not medical advice, and not a medical device.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from surefoot.paper.bolus.problem import make_dosing
from surefoot.paper.glucose import Calculator, diet, lane_seeds
from surefoot.paper.glucose import simulate as simulate_days
from surefoot.paper.glucose.day import CARB_RULE, CORRECTION_RULE
from surefoot.study import Pull

PATIENT = "adult#001"


def simulate(pull: Pull) -> float:
    """The sum of the lowest −risk of the two days; each has sensor noise of its own."""
    calculator = Calculator(pull.parameters["CarbF"], pull.parameters["CorrF"])
    days = np.array([diet("low"), diet("high")], dtype=object)
    seeds = lane_seeds(pull.seed_sequence, 2)
    return float(
        simulate_days(PATIENT, calculator, days, seeds, statistics=["magni_risk"]).reward.sum()
    )


def write_tables(folder: Path) -> None:
    """The arms and errors that `surefoot bolus` uses for this patient, as the two tables of
    bolus.toml.
    """
    problem = make_dosing(PATIENT).linear
    names = problem.parameter_names
    first = problem.offsets[:-1]
    insulin = problem.parameters[first, 2]
    arms = pd.DataFrame(problem.parameters[first], columns=names)
    arms["CarbF"], arms["CorrF"] = CARB_RULE / insulin, CORRECTION_RULE / insulin
    arms.insert(0, "name", problem.arm_names)
    arms.to_csv(folder / "bolus_arms.csv", index=False, lineterminator="\n")
    settings = arms[["CarbF", "CorrF"]].to_numpy()[problem.arm_of_pair]
    errors = pd.DataFrame(problem.parameters[:, 3:5] - settings, columns=["CarbF", "CorrF"])
    errors.insert(0, "arm", [problem.arm_names[arm] for arm in problem.arm_of_pair])
    errors.insert(1, "name", problem.perturbation_names)
    errors.to_csv(folder / "bolus_perturbations.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    write_tables(Path(__file__).parent)
