"""One patient: the choices of every method, the true best setting, and five-day outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from surefoot.algorithms import Result
from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.bolus.methods import (
    CALCULATOR,
    METHODS,
    WORST_OF_ALL,
    Assignment,
    Method,
    MethodPilot,
    choose,
    run_pilot,
)
from surefoot.paper.bolus.problem import (
    RISK,
    Dosing,
    branch,
    day_rewards,
    find_reward,
    make_dosing,
    require_sizes,
    stream,
)
from surefoot.paper.glucose import Calculator, diet, lane_seeds, simulate
from surefoot.paper.glucose.metrics import HIGH, LOW, Statistic

Profile = dict[str, list[float]]  # "hour", and BG by `evaluation.QUANTILES`


@dataclass(frozen=True)
class PilotFacts:
    """The findings of a pilot on the noise, for methods that need scales.

    Attributes:
        samples: its pulls.
        scale_low, scale_high: the smallest and the largest scale that methods are told.
        covering: the share of pairs whose scale is no smaller than the true standard deviation.
    """

    samples: int
    scale_low: float
    scale_high: float
    covering: float


@dataclass(frozen=True)
class PatientFacts:
    """Noise and truth of a patient.

    Attributes:
        tdi: total daily insulin, in units.
        deviation_low, deviation_median, deviation_high: true standard deviations of the pairs.
        best, tied: the best arm, and all that may be the best one.
        best_value: its worst-case reward.
        truth_samples: pulls of the exhaustive simulation.
        linear_best, linear_regret: the arm that the linear model prefers, and its regret.
    """

    patient: str
    tdi: float
    deviation_low: float
    deviation_median: float
    deviation_high: float
    best: int
    tied: list[int]
    best_value: float
    truth_samples: int
    linear_best: int
    linear_regret: float


@dataclass(frozen=True)
class ArmFacts:
    """A setting: its factors as set and under its worst error, and its true worst-case reward."""

    patient: str
    arm: int
    name: str
    carb_factor: float
    correction_factor: float
    worst_carb_factor: float
    worst_correction_factor: float
    value: float
    replicates: int


@dataclass(frozen=True)
class Choice:
    """The choice of a method at one of its attempts, held against the truth.

    Attributes:
        samples: all pulls that it took, those of a pilot for the noise scales included.
        pilot: how many of them were the pilot's.
        attained: the method's final confidence that the arm is best; None if unknown.
    """

    patient: str
    method: str
    policy: str
    choice: int
    arm: int
    samples: int
    pilot: int
    certified: bool
    attained: float | None
    reason: str
    candidates: int
    lack_of_fit: float | None
    model_rejected: bool
    found: bool
    regret: float


@dataclass(frozen=True)
class FiveDays:
    """One five-day simulation of a chosen setting, in the metrics of the paper's tables."""

    patient: str
    method: str
    case: str
    run: int
    arm: int
    risk: float
    risk_of_parts: float
    below: float
    above: float
    within: float


@dataclass(frozen=True)
class PatientRecord:
    """Everything about one patient; no pilot where no method needed its scales."""

    patient: PatientFacts
    pilot: PilotFacts | None
    arms: list[ArmFacts]
    choices: list[Choice]
    outcomes: list[FiveDays]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PatientRecord:
        """Return the object that these JSON values describe."""
        pilot = values["pilot"]
        return cls(
            PatientFacts(**values["patient"]),
            None if pilot is None else PilotFacts(**pilot),
            [ArmFacts(**row) for row in values["arms"]],
            [Choice(**row) for row in values["choices"]],
            [FiveDays(**row) for row in values["outcomes"]],
        )


@dataclass(frozen=True)
class Advice:
    """A patient's record, and the contents of the page about it.

    Attributes:
        profiles: ambulatory glucose profiles by the name of the setting and the case.
        charts: Vega-Lite specifications by name.
    """

    record: PatientRecord
    profiles: dict[str, Profile]
    charts: dict[str, Any]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Advice:
        """Return the object that these JSON values describe."""
        record = PatientRecord.from_json(values["record"])
        return cls(record, values["profiles"], values["charts"])


REPLICATES = (300, 1500, 6000)  # of every pair; then of those that can still matter
ERROR = 0.05


@dataclass(frozen=True, eq=False)
class TrueValues:
    """The values that exhaustive simulation finds.

    Attributes:
        means: (n_pairs,) mean rewards.
        deviations: (n_pairs,) standard deviations of single rewards.
        replicates: (n_pairs,) simulated pulls.
        values: (n_arms,) mean reward of each arm's worst pair.
        worst_pairs: (n_arms,) where it is worst.
        best: the arm of the highest value.
        tied: the arms that may still be the best one, with 95 % confidence (normal approximation,
            all pairs and looks at once); `best` alone where the winner is clear.
    """

    means: Array
    deviations: Array
    replicates: IntArray
    values: Array
    worst_pairs: IntArray
    best: int
    tied: IntArray

    def regret(self, arm: int) -> float:
        """Return the loss of the arm's worst case against the best arm's."""
        return float(self.values[self.best] - self.values[arm])


def find_truth(
    dosing: Dosing, source: np.random.SeedSequence, replicates: tuple[int, ...] = REPLICATES
) -> TrueValues:
    """Simulate all pairs; then, more and more often, those pairs of the arms in contention that may
    be the worst.
    """
    problem = dosing.linear
    rewards = [np.empty(0) for _ in range(problem.n_pairs)]
    width = float(-special.ndtri(ERROR / (2 * problem.n_pairs * len(replicates))))
    chosen = np.arange(problem.n_pairs)
    for stage, total in enumerate(replicates):
        _extend(dosing, rewards, chosen, total, branch(source, stage))
        means = np.array([values.mean() for values in rewards])
        deviations = np.array([values.std(ddof=1) for values in rewards])
        counts = np.array([len(values) for values in rewards])
        margin = width * deviations / np.sqrt(counts)
        floors, ceilings = problem.worst_of(means - margin), problem.worst_of(means + margin)
        # as good as the arm that is surely good, perhaps
        tied = np.flatnonzero(ceilings >= floors.max())
        if len(tied) == 1:
            break
        may_be_worst = means - margin <= ceilings[problem.arm_of_pair]
        chosen = np.flatnonzero(np.isin(problem.arm_of_pair, tied) & may_be_worst)
    values = problem.worst_of(means)
    worst = problem.worst_pairs_of(means)
    return TrueValues(means, deviations, counts, values, worst, int(np.argmax(values)), tied)


def _extend(
    dosing: Dosing,
    rewards: list[Array],
    chosen: IntArray,
    total: int,
    source: np.random.SeedSequence,
) -> None:
    """Simulate the chosen pairs until each has `total` rewards."""
    missing = np.array([max(total - len(rewards[pair]), 0) for pair in chosen])
    pairs = np.repeat(chosen, missing)
    fresh = day_rewards(dosing, pairs, source).sum(axis=0)
    for pair, values in zip(chosen.tolist(), np.split(fresh, np.cumsum(missing)[:-1]), strict=True):
        rewards[pair] = np.concatenate([rewards[pair], values])


PLANS = (diet("low", "high", "low", "high", "low"), diet("high", "low", "high", "low", "high"))
Setting = tuple[float, float]  # CarbF, CorrF
METRIC_TITLES = {
    "risk": "risk index",
    "risk_of_parts": "risk index of parts",
    "below": f"% below {LOW:g}",
    "above": f"% above {HIGH:g}",
    "within": f"% in {LOW:g}–{HIGH:g}",
}
METRICS = tuple(METRIC_TITLES)
CASES = ("as found", "worst case")
DAYS_A_RUN = 5
BINS_AN_HOUR = 4
QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def _evaluate(
    dosing: Dosing, settings: Sequence[Setting], runs: Sequence[int], seed: int
) -> list[dict[str, Any]]:
    """Return the metrics of one 5-day simulation for each setting and its run.

    Equal runs meet the same meals and the same sensor noise, so equal settings give equal figures.
    Even runs begin with a low-carb day, odd ones with a high-carb day: over all runs both are
    equally frequent.
    """
    carb, correction = np.array(settings).T
    number = np.array(runs)
    plans = np.array(PLANS, dtype=object)[number % 2]
    noise = lane_seeds(stream(seed, dosing.patient, "evaluation"), int(number.max()) + 1)[number]
    names: list[Statistic] = ["time_below", "time_above", "time_in_range", "lbgi", "hbgi"]
    names += ["lbgi_of_lows", "hbgi_of_highs"]
    calculators = Calculator(carb, correction)
    found = simulate(dosing.patient, calculators, plans, noise, statistics=names)
    columns = [
        found.risk_index,
        found.risk_index_of_parts,
        100 * found["time_below"],
        100 * found["time_above"],
        100 * found["time_in_range"],
    ]
    return [dict(zip(METRICS, row, strict=True)) for row in np.stack(columns, axis=1).tolist()]


def daily_profile(dosing: Dosing, setting: Setting, runs: int, seed: int) -> Profile:
    """Return the spread of BG over many simulated days, by the time of day: the ambulatory glucose
    profile.

    Runs last five days, low- and high-carb days in turn, and settings that are compared meet the
    same sensor noise. The first day does not count: it begins in one state for all.
    """
    noise = lane_seeds(stream(seed, dosing.patient, "profiles"), runs)
    plans = np.array(PLANS, dtype=object)[np.arange(runs) % 2]
    bg = simulate(dosing.patient, Calculator(*setting), plans, noise).bg[:, 1:]
    bins = 24 * BINS_AN_HOUR
    days = bg.reshape(runs, DAYS_A_RUN, bins, -1)[:, 1:]
    by_time = days.transpose(2, 0, 1, 3).reshape(bins, -1)
    ends = np.quantile(by_time, list(QUANTILES.values()), axis=1)
    hours = (np.arange(bins) + 0.5) / BINS_AN_HOUR
    return {
        "hour": hours.tolist(),
        **{name: np.round(row, 1).tolist() for name, row in zip(QUANTILES, ends, strict=True)},
    }


STEPS = ("choices", "truth", "outcomes")


@dataclass(frozen=True)
class Plan:
    """The runs that are made for each patient.

    Attributes:
        runs: 5-day simulations of each method's outcome.
        runs_a_choice: after this many of them the methods choose anew, with other noise.
        labels: of the methods that choose.
        reward: its name.
    """

    seed: int = 0
    runs: int = 20
    runs_a_choice: int = 2
    arms: int = 15
    perturbations: int = 5
    question: Assignment = field(default_factory=Assignment)
    labels: tuple[str, ...] = tuple(method.label for method in METHODS)
    reward: str = RISK.name

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise InputError(f"{self.runs} runs were asked for: give at least 1")
        require_sizes(self.arms, self.perturbations)
        find_reward(self.reward)

    @property
    def choices(self) -> int:
        """The number of choices of each method."""
        return -(-self.runs // self.runs_a_choice)

    @property
    def methods(self) -> list[Method]:
        return [method for method in METHODS if method.label in self.labels]


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings on one patient, before they become plain values.

    Attributes:
        pilot: estimates of the noise scales; None where no method needs them.
        results: of each choice, by method.
    """

    plan: Plan
    dosing: Dosing
    pilot: MethodPilot | None
    results: list[dict[str, Result]]
    truth: TrueValues

    def setting(self, arm: int, case: str) -> Setting:
        """Return an arm's factors, as set or under its worst error."""
        if case == CASES[0]:
            return self.dosing.arm_setting(arm)
        return self.dosing.pair_setting(int(self.truth.worst_pairs[arm]))


def study_patient(
    name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None
) -> PatientRecord:
    """Return a patient's choices, truth and outcomes, reproducible to the bit from the plan.

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
    """Return the findings as plain values, with five-day outcomes of the choices."""
    record = PatientRecord(
        patient=_patient_facts(found.dosing, found.truth),
        pilot=_pilot_facts(found.pilot, found.truth),
        arms=_arm_facts(found.dosing, found.truth),
        choices=_choices(found),
        outcomes=_outcomes(found),
    )
    tell("outcomes")
    return record


def _pilot_facts(pilot: MethodPilot | None, truth: TrueValues) -> PilotFacts | None:
    if pilot is None:
        return None
    scales = pilot.scales
    covering = pilot.covered(truth.deviations)
    return PilotFacts(pilot.samples, float(scales.min()), float(scales.max()), covering)


def _patient_facts(dosing: Dosing, truth: TrueValues) -> PatientFacts:
    linear = _linear_choice(dosing, truth)
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


def _linear_choice(dosing: Dosing, truth: TrueValues) -> int:
    """Return the arm that the linear model prefers however many pulls it gets: its least-squares
    fit to the true means.
    """
    theta, *_ = np.linalg.lstsq(dosing.linear.pairs, truth.means, rcond=None)
    return dosing.linear.best_arm(theta)


def _arm_facts(dosing: Dosing, truth: TrueValues) -> list[ArmFacts]:
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
    metrics = _evaluate(dosing, settings, [run for _, _, run, _ in rows], plan.seed)
    return [
        FiveDays(dosing.patient.name, *row, **measured)
        for row, measured in zip(rows, metrics, strict=True)
    ]
