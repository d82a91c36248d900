"""Everything about one patient: the choices of every method, the truth and five-day outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.paper.bolus.evaluation import CASES, Setting, evaluate
from surefoot.paper.bolus.methods import (
    CALCULATOR,
    METHODS,
    WORST_OF_ALL,
    Method,
    Question,
    choose,
)
from surefoot.paper.bolus.noise import Pilot, run_pilot
from surefoot.paper.bolus.problem import Dosing, make_dosing, require_sizes, stream
from surefoot.paper.bolus.records import (
    ArmFacts,
    Choice,
    FiveDays,
    PatientFacts,
    PatientRecord,
    PilotFacts,
)
from surefoot.paper.bolus.rewards import RISK, find_reward
from surefoot.paper.bolus.truth import Truth, find_truth

STEPS = ("choices", "truth", "outcomes")


@dataclass(frozen=True)
class Plan:
    """What is done for each patient.

    Attributes:
        runs: 5-day simulations of each method's outcome.
        runs_a_choice: after this many of them the methods choose anew, with other noise.
        labels: of the methods that choose.
        reward: the name of what a pull is worth.
    """

    seed: int = 0
    runs: int = 20
    runs_a_choice: int = 2
    arms: int = 15
    perturbations: int = 5
    question: Question = field(default_factory=Question)
    labels: tuple[str, ...] = tuple(method.label for method in METHODS)
    reward: str = RISK.name

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise InputError(f"{self.runs} runs were asked for: give at least 1")
        require_sizes(self.arms, self.perturbations)
        find_reward(self.reward)

    @property
    def choices(self) -> int:
        """How often each method chooses."""
        return -(-self.runs // self.runs_a_choice)

    @property
    def methods(self) -> list[Method]:
        return [method for method in METHODS if method.label in self.labels]


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found about one patient, before it becomes plain values.

    Attributes:
        pilot: what is known of the noise scales; None where no method needs them.
        results: of each choice, by method.
    """

    plan: Plan
    dosing: Dosing
    pilot: Pilot | None
    results: list[dict[str, Result]]
    truth: Truth

    def setting(self, arm: int, case: str) -> Setting:
        """An arm's factors, as set or under its worst error."""
        if case == CASES[0]:
            return self.dosing.arm_setting(arm)
        return self.dosing.pair_setting(int(self.truth.worst_pairs[arm]))


def study_patient(
    name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None
) -> PatientRecord:
    """Do all of it; the record is the same to the bit for the same plan.

    Args:
        tell: is told each of `STEPS` when it is done.
    """
    return record_of(find(name, plan, tell), tell)


def find(name: str, plan: Plan, tell: Callable[[str], None]) -> Findings:
    """Let every method choose, and find the truth."""
    reward = find_reward(plan.reward)
    dosing = make_dosing(name, plan.seed, plan.arms, plan.perturbations, reward)
    pilot = None
    if any(method.needs_scales for method in plan.methods):
        pilot = run_pilot(dosing, stream(plan.seed, dosing.patient, "pilot"))
    scales = None if pilot is None else pilot.scales
    sources = [stream(plan.seed, dosing.patient, "identify", k) for k in range(plan.choices)]
    results = [choose(plan.methods, dosing, scales, plan.question, source) for source in sources]
    tell("choices")
    truth = find_truth(dosing, stream(plan.seed, dosing.patient, "truth"))
    tell("truth")
    return Findings(plan, dosing, pilot, results, truth)


def record_of(found: Findings, tell: Callable[[str], None]) -> PatientRecord:
    """Everything as plain values, with five-day outcomes of the choices."""
    record = PatientRecord(
        patient=_patient_facts(found.dosing, found.truth),
        pilot=_pilot_facts(found.pilot, found.truth),
        arms=_arm_facts(found.dosing, found.truth),
        choices=_choices(found),
        outcomes=_outcomes(found),
    )
    tell("outcomes")
    return record


def _pilot_facts(pilot: Pilot | None, truth: Truth) -> PilotFacts | None:
    if pilot is None:
        return None
    scales = pilot.scales
    covering = pilot.covered(truth.deviations)
    return PilotFacts(pilot.samples, float(scales.min()), float(scales.max()), covering)


def _patient_facts(dosing: Dosing, truth: Truth) -> PatientFacts:
    linear = linear_choice(dosing, truth)
    return PatientFacts(
        patient=dosing.patient.name,
        tdi=dosing.patient.total_daily_insulin,
        deviation_low=float(truth.deviations.min()),
        deviation_median=float(np.median(truth.deviations)),
        deviation_high=float(truth.deviations.max()),
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


def _choices(found: Findings) -> list[Choice]:
    return [
        _choice(found, number, method, by_label[method.label])
        for number, by_label in enumerate(found.results)
        for method in found.plan.methods
    ]


def _choice(found: Findings, number: int, method: Method, result: Result) -> Choice:
    pilot = found.pilot.samples if found.pilot is not None and method.needs_scales else 0
    return Choice(
        patient=found.dosing.patient.name,
        method=method.label,
        policy=method.policy,
        choice=number,
        arm=result.arm,
        samples=pilot + result.samples,
        pilot=pilot,
        certified=result.certified,
        attained=result.attained_confidence,
        reason=result.reason.name,
        candidates=len(result.candidates),
        lack_of_fit=result.model_check.lack_of_fit,
        model_rejected=result.model_check.rejected,
        found=result.arm in found.truth.tied.tolist(),
        regret=found.truth.regret(result.arm),
    )


def _outcomes(found: Findings) -> list[FiveDays]:
    dosing, plan, truth = found.dosing, found.plan, found.truth
    rows: list[tuple[str, str, int, int]] = []
    for run in range(plan.runs):
        chosen = found.results[run // plan.runs_a_choice]
        arms = {CALCULATOR: dosing.baseline_arm}
        arms |= {method.label: chosen[method.label].arm for method in plan.methods}
        rows += [(label, case, run, arm) for label, arm in arms.items() for case in CASES]
        rows.append((WORST_OF_ALL, CASES[1], run, int(np.argmin(truth.values))))
    settings = [found.setting(arm, case) for _, case, _, arm in rows]
    metrics = evaluate(dosing, settings, [run for _, _, run, _ in rows], plan.seed)
    return [
        FiveDays(dosing.patient.name, *row, **measured)
        for row, measured in zip(rows, metrics, strict=True)
    ]
