"""Everything about one patient: pilot, choices of every method, the truth, five-day outcomes and a
day's curves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
from surefoot.experiments.bolus.records import (
    ArmFacts,
    Choice,
    Curves,
    FiveDays,
    PatientFacts,
    PatientRecord,
)
from surefoot.experiments.bolus.truth import Truth, find_truth

STEPS = ("pilot", "choices", "truth", "outcomes")


@dataclass(frozen=True)
class Plan:
    """What is done for each patient.

    Attributes:
        runs: 5-day simulations of each method's outcome.
        runs_a_choice: after this many of them the methods choose anew, with other noise.
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


def study_patient(
    name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None
) -> PatientRecord:
    """Do all of it; the record is the same to the bit for the same plan.

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
    record = PatientRecord(
        patient=_patient_facts(dosing, pilot, truth),
        arms=_arm_facts(dosing, truth),
        choices=_choices(dosing, results, truth),
        outcomes=_outcomes(dosing, results, truth, plan),
        curves=_curves(dosing, results[0][PRIME_TABULAR.label].arm, truth, plan),
    )
    tell("outcomes")
    return record


def _patient_facts(dosing: Dosing, pilot: Pilot, truth: Truth) -> PatientFacts:
    linear = linear_choice(dosing, truth)
    return PatientFacts(
        patient=dosing.patient.name,
        tdi=dosing.patient.total_daily_insulin,
        pilot_samples=pilot.samples,
        scale_low=float(pilot.scales.min()),
        scale_high=float(pilot.scales.max()),
        deviation_low=float(truth.deviations.min()),
        deviation_median=float(np.median(truth.deviations)),
        deviation_high=float(truth.deviations.max()),
        scales_covering=pilot.covered(truth.deviations),
        best=truth.best,
        tied=truth.tied.tolist(),
        best_value=float(truth.values[truth.best]),
        truth_samples=int(truth.replicates.sum()),
        linear_best=linear,
        linear_regret=truth.regret(linear),
    )


def linear_choice(dosing: Dosing, truth: Truth) -> int:
    """The arm that the linear model prefers however many pulls it gets: its least-squares fit to
    the true means.
    """
    theta, *_ = np.linalg.lstsq(dosing.linear.pairs, truth.means, rcond=None)
    return dosing.linear.best_arm(theta)


def _arm_facts(dosing: Dosing, truth: Truth) -> list[ArmFacts]:
    rows = []
    for arm, name in enumerate(dosing.linear.arm_names):
        carb, correction = dosing.arm_setting(arm)
        worst_carb, worst_correction = dosing.pair_setting(int(truth.worst_pairs[arm]))
        rows.append(
            ArmFacts(
                patient=dosing.patient.name,
                arm=arm,
                name=name,
                carb_factor=carb,
                correction_factor=correction,
                worst_carb_factor=worst_carb,
                worst_correction_factor=worst_correction,
                value=float(truth.values[arm]),
                replicates=int(truth.replicates[dosing.linear.pairs_of(arm)].max()),
            )
        )
    return rows


def _choices(dosing: Dosing, results: list[dict[str, Result]], truth: Truth) -> list[Choice]:
    return [
        Choice(
            patient=dosing.patient.name,
            method=method.label,
            policy=method.policy,
            choice=number,
            arm=result.arm,
            samples=result.samples,
            certified=result.certified,
            reason=result.reason.name,
            candidates=len(result.candidates),
            lack_of_fit=result.model_check.lack_of_fit,
            model_rejected=result.model_check.rejected,
            found=result.arm in truth.tied.tolist(),
            regret=truth.regret(result.arm),
        )
        for number, by_label in enumerate(results)
        for method in METHODS
        for result in (by_label[method.label],)
    ]


def _outcomes(
    dosing: Dosing, results: list[dict[str, Result]], truth: Truth, plan: Plan
) -> list[FiveDays]:
    rows: list[tuple[str, str, int, int]] = []
    for run in range(plan.runs):
        arms = {CALCULATOR: dosing.baseline_arm}
        arms |= {label: result.arm for label, result in results[run // plan.runs_a_choice].items()}
        rows += [(label, case, run, arm) for label, arm in arms.items() for case in CASES]
        rows.append((WORST_OF_ALL, CASES[1], run, int(np.argmin(truth.values))))
    settings = [_setting(dosing, arm, truth, case) for _, case, _, arm in rows]
    metrics = evaluate(dosing, settings, [run for _, _, run, _ in rows], plan.seed)
    return [
        FiveDays(dosing.patient.name, *row, **found)
        for row, found in zip(rows, metrics, strict=True)
    ]


def _setting(dosing: Dosing, arm: int, truth: Truth, case: str) -> Setting:
    return (
        dosing.arm_setting(arm)
        if case == CASES[0]
        else dosing.pair_setting(int(truth.worst_pairs[arm]))
    )


def _curves(dosing: Dosing, recommended: int, truth: Truth, plan: Plan) -> Curves:
    arms = {"calculator": dosing.baseline_arm, "recommended": recommended}
    ends = {CASES[0]: "as set", CASES[1]: "worst error"}
    settings = {
        f"{name}, {ends[case]}": _setting(dosing, arm, truth, case)
        for name, arm in arms.items()
        for case in CASES
    }
    return day_curves(dosing, settings, plan.seed)
