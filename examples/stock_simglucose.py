"""The dosing study with the original simglucose as an outside simulator: nothing of Surefoot's own
patients is used.

    pip install 'simglucose==0.2.11' 'setuptools<81'
    python examples/stock_simglucose.py adult#007 --budget 400      # again, with more, to go on

simglucose takes 15 to 25 s of a processor for the two days of a pull. With seven settings of three
errors the certified answer for adult#007 took 144 pulls, half an hour of two processors. The
paper's 15 settings of five errors (--arms 15 --perturbations 5) take about as many pulls more, and
patients whose best settings are nearly level an hour or two. A smaller budget gives the best guess
so far. Every reward is stored: the same command goes on after an interruption.
Research on virtual patients. Not medical advice, and not a medical device.
"""

from __future__ import annotations

import argparse
import logging
import math
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from simglucose.actuator.pump import InsulinPump
from simglucose.controller.base import Action, Controller
from simglucose.patient.t1dpatient import T1DPatient
from simglucose.sensor.cgm import CGMSensor
from simglucose.simulation.env import T1DSimEnv
from simglucose.simulation.scenario import CustomScenario
from simglucose.simulation.sim_engine import SimObj

import surefoot as sf
from surefoot.paper.bolus.problem import Dosing, make_dosing
from surefoot.study import Pull

# hour, share
MEALS = (
    (7.0, 0.250),
    (9.5, 0.035),
    (12.0, 0.295),
    (15.0, 0.035),
    (18.0, 0.350),
    (21.5, 0.035),
)
UNITS_TO_PMOL = 6000


class BolusCalculator(Controller):
    """Basal insulin all day; a bolus at meals for the carbohydrates, and for a reading above 150
    mg/dL.
    """

    def __init__(self, basal: float, carb_factor: float, correction_factor: float) -> None:
        self.basal, self.carb_factor, self.correction_factor = basal, carb_factor, correction_factor

    def policy(self, observation, reward, done, **info):
        grams, minutes = info["meal"] * info["sample_time"], info["sample_time"]
        units = 0.0
        if grams > 0:
            units = grams / self.carb_factor
            if observation.CGM > 150:
                units += (observation.CGM - 140) / self.correction_factor
        return Action(basal=self.basal, bolus=units / minutes)

    def reset(self):
        pass


def lowest_reward(
    name: str, grams: float, carb_factor: float, correction_factor: float, seed: int
) -> float:
    """The lowest −risk of one simulated day on which so many grams of carbohydrates are eaten."""
    logging.getLogger("simglucose").setLevel(logging.ERROR)
    midnight = datetime(2024, 1, 1)
    meals = [(timedelta(hours=hour), share * grams) for hour, share in MEALS]
    patient = T1DPatient.withName(name)
    basal = patient._params.u2ss * patient._params.BW / UNITS_TO_PMOL
    world = T1DSimEnv(
        patient,
        CGMSensor.withName("Dexcom", seed=seed),
        InsulinPump.withName("Insulet"),
        CustomScenario(start_time=midnight, scenario=meals),
    )
    SimObj(
        world,
        BolusCalculator(basal, carb_factor, correction_factor),
        timedelta(days=1),
        animate=False,
    ).simulate()
    glucose = np.maximum(np.array(world.BG_hist, dtype=float), 1.0)
    return float(-(10 * (3.35506 * (np.log(glucose) ** 0.8353 - 3.7932)) ** 2).max())


def simulate(pull: Pull, name: str) -> float:
    """A low- and a high-carb day; settings of one block meet the same sensor noise."""
    given = pull.parameters
    seeds = (int(word >> 1) for word in pull.seed_sequence.generate_state(2))
    grams = (given["lc"], given["hc"])
    return sum(
        lowest_reward(name, g, given["CarbF"], given["CorrF"], seed)
        for g, seed in zip(grams, seeds, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patient", nargs="?", default="adult#001")
    parser.add_argument(
        "--budget", type=int, default=400, help="pulls; more later go on from there"
    )
    parser.add_argument("--arms", type=int, default=7, help="settings; the paper has 15")
    parser.add_argument("--perturbations", type=int, default=3, help="of each; the paper has 5")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    dosing = make_dosing(options.patient, 0, options.arms, options.perturbations)
    result = run(dosing, options.budget, options.processes, options.folder)
    print(result)
    print("Research on virtual patients. Not medical advice.")


def run(dosing: Dosing, budget: int, processes: int | None, folder: Path) -> sf.Result:
    """Begin the patient's study or go on with it."""
    name = dosing.patient.name
    file = folder / f"stock-{name.replace('#', '-')}.db"
    if file.exists():
        study = sf.Study.open(file)
        study.change(budget=budget)
    else:
        study = sf.Study.create(
            file,
            dosing.curved,  # features guide; the certificate does not rely on them
            delta=0.05,
            noise=sf.Gaussian(),
            misfit=math.inf,
            common_random_numbers=True,
            budget=budget,
            seed=1,
        )
    with study:
        return study.run(partial(simulate, name=name), processes)


if __name__ == "__main__":
    main()
