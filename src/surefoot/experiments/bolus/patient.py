"""Everything about one patient: pilot, choices of every method, the truth, five-day outcomes and a
day's curves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.experiments.bolus.evaluation import CASES, Setting, day_curves, evaluate
from surefoot.experiments.bolus.methods import (
    CALCULATOR,
    METHODS,
    PRIME_TABULAR,
    WORST_OF_ALL,
    Question,
    choose,
)
from surefoot.experiments.bolus.noise import Pilot, run_pilot
from surefoot.experiments.bolus.problem import Dosing, make_dosing, stream
from surefoot.experiments.bolus.truth import Truth, find_truth

STEPS = ("pilot", "choices", "truth", "outcomes")
Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is done for each patient.

    Attributes:
        runs: 5-day simulations of each method's outcome.
        runs_a_choice: after so many of them the methods choose anew, with other noise.
    """

    seed: int = 0
    runs: int = 20
    runs_a_choice: int = 5
    arms: int = 15
    perturbations: int = 5
    question: Question = field(default_factory=Question)

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise InputError(f"{self.runs} runs were asked for: give at least 1")

    @property
    def choices(self) -> int:
        """How often each method chooses."""
        return -(-self.runs // self.runs_a_choice)


def study_patient(name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None) -> Record:
    """All of it as plain values, the same to the bit for the same plan.

    Args:
        tell: is told each of `STEPS` when it is done.
    """
    dosing = make_dosing(name, plan.seed, plan.arms, plan.perturbations)
    pilot = run_pilot(dosing, stream(plan.seed, dosing.patient, "pilot"))
    tell("pilot")
    results = [
        choose(
            dosing,
            pilot.scales,
            plan.question,
            stream(plan.seed, dosing.patient, "identify", number),
        )
        for number in range(plan.choices)
    ]
    tell("choices")
    truth = find_truth(dosing, stream(plan.seed, dosing.patient, "truth"))
    tell("truth")
    record = {
        "patient": _patient_row(dosing, pilot, truth),
        "arms": _arm_rows(dosing, truth),
        "choices": _choice_rows(dosing, results, truth),
        "outcomes": _outcome_rows(dosing, results, truth, plan),
        "curves": _curves(dosing, results[0][PRIME_TABULAR.label].arm, truth, plan),
    }
    tell("outcomes")
    return record


def _patient_row(dosing: Dosing, pilot: Pilot, truth: Truth) -> Record:
    linear = linear_choice(dosing, truth)
    return {
        "patient": dosing.patient.name,
        "tdi": dosing.patient.total_daily_insulin,
        "pilot_samples": pilot.samples,
        "scale_low": float(pilot.scales.min()),
        "scale_high": float(pilot.scales.max()),
        "deviation_low": float(truth.deviations.min()),
        "deviation_median": float(np.median(truth.deviations)),
        "deviation_high": float(truth.deviations.max()),
        "scales_covering": pilot.covered(truth.deviations),
        "best": truth.best,
        "tied": truth.tied.tolist(),
        "best_value": float(truth.values[truth.best]),
        "truth_samples": int(truth.replicates.sum()),
        "linear_best": linear,
        "linear_regret": truth.regret(linear),
    }


def linear_choice(dosing: Dosing, truth: Truth) -> int:
    """The arm that the linear model prefers however many pulls it gets: its least-squares fit to
    the true means.
    """
    theta, *_ = np.linalg.lstsq(dosing.linear.pairs, truth.means, rcond=None)
    return dosing.linear.best_arm(theta)


def _arm_rows(dosing: Dosing, truth: Truth) -> list[Record]:
    rows = []
    for arm, name in enumerate(dosing.linear.arm_names):
        carb, correction = dosing.arm_setting(arm)
        worst_carb, worst_correction = dosing.pair_setting(int(truth.worst_pairs[arm]))
        rows.append(
            {
                "patient": dosing.patient.name,
                "arm": arm,
                "name": name,
                "carb_factor": carb,
                "correction_factor": correction,
                "worst_carb_factor": worst_carb,
                "worst_correction_factor": worst_correction,
                "value": float(truth.values[arm]),
                "replicates": int(truth.replicates[dosing.linear.pairs_of(arm)].max()),
            }
        )
    return rows


def _choice_rows(dosing: Dosing, results: list[dict[str, Result]], truth: Truth) -> list[Record]:
    return [
        {
            "patient": dosing.patient.name,
            "method": method.label,
            "policy": method.policy,
            "choice": number,
            "arm": result.arm,
            "samples": result.samples,
            "certified": result.certified,
            "reason": result.reason.name,
            "candidates": len(result.candidates),
            "lack_of_fit": result.model_check.lack_of_fit,
            "model_rejected": result.model_check.rejected,
            "found": result.arm in truth.tied.tolist(),
            "regret": truth.regret(result.arm),
        }
        for number, by_label in enumerate(results)
        for method in METHODS
        for result in (by_label[method.label],)
    ]


def _outcome_rows(
    dosing: Dosing, results: list[dict[str, Result]], truth: Truth, plan: Plan
) -> list[Record]:
    rows: list[Record] = []
    settings: list[Setting] = []
    for run in range(plan.runs):
        arms = {CALCULATOR: dosing.baseline_arm}
        arms |= {label: result.arm for label, result in results[run // plan.runs_a_choice].items()}
        for label, arm in arms.items():
            for case in CASES:
                rows.append(
                    {
                        "patient": dosing.patient.name,
                        "method": label,
                        "case": case,
                        "run": run,
                        "arm": arm,
                    }
                )
                settings.append(_setting(dosing, arm, truth, case))
        worst = int(np.argmin(truth.values))
        rows.append(
            {
                "patient": dosing.patient.name,
                "method": WORST_OF_ALL,
                "case": CASES[1],
                "run": run,
                "arm": worst,
            }
        )
        settings.append(_setting(dosing, worst, truth, CASES[1]))
    metrics = evaluate(dosing, settings, [row["run"] for row in rows], plan.seed)
    return [row | found for row, found in zip(rows, metrics, strict=True)]


def _setting(dosing: Dosing, arm: int, truth: Truth, case: str) -> Setting:
    return (
        dosing.arm_setting(arm)
        if case == CASES[0]
        else dosing.pair_setting(int(truth.worst_pairs[arm]))
    )


def _curves(dosing: Dosing, recommended: int, truth: Truth, plan: Plan) -> Record:
    arms = {"calculator": dosing.baseline_arm, "recommended": recommended}
    ends = {CASES[0]: "as set", CASES[1]: "worst error"}
    settings = {
        f"{name}, {ends[case]}": _setting(dosing, arm, truth, case)
        for name, arm in arms.items()
        for case in CASES
    }
    return day_curves(dosing, settings, plan.seed)
