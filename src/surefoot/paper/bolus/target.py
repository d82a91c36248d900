"""The clinicians' target for one virtual patient: as much time in range as can be, with time below
70 mg/dL of at most 4 %, for any listed error in the calculator's factors.

The numbers are those of the international consensus on time in range (Battelino et al., 2019):
less than 4 % of the time below 70 mg/dL, and more than 70 % of it between 70 and 180. A pull is two
simulated days, a low- and a high-carb one, and has both outputs. Arms range over more insulin than
in the paper's problem, so that the limit binds.

Research on virtual patients; not medical advice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms import Result, Settings, StopReason, algorithm_from
from surefoot.arrays import Array, IntArray
from surefoot.experiments.comparison import finished
from surefoot.limits import Limit
from surefoot.noise import Bounded, Gaussian
from surefoot.paper.bolus.methods import Assignment
from surefoot.paper.bolus.page import Listing, Page, decimals
from surefoot.paper.bolus.patient import Plan, Profile, daily_profile
from surefoot.paper.bolus.problem import (
    DAYS,
    BolusSimulator,
    Dosing,
    make_dosing,
    simulated_days,
    stream,
)
from surefoot.paper.bolus.problem import TIME_IN_RANGE as TIME_REWARD
from surefoot.paper.glucose import lane_seeds
from surefoot.paper.glucose.metrics import HIGH, LOW

if TYPE_CHECKING:
    import pandas as pd

INSULIN = (0.75, 2.0)  # of the patient's total daily insulin: from the least to the most of arms
BELOW, SLACK = 4.0, 0.5  # % of the time below 70 mg/dL, and by how much it may be missed
IN_RANGE, TIME_BELOW = "time in range", "time below"
TOLERANCE = 1.0  # % of the time in range
REPLICATES = 400  # of every pair, for the truth
ERRORS = 4.0  # standard errors by which the truth must be clear


# the paper's days, with the outputs that the target is about
TARGET = replace(
    TIME_REWARD,
    name="target",
    statistics=("time_in_range", "time_below"),
    noise=Gaussian(),
    others={TIME_BELOW: lambda day: 50 * day["time_below"]},
)


def _target_settings(question: Assignment) -> Settings:
    """Return the target as an algorithm is asked for it; the tolerance is in % of the time."""
    limit = Limit(TIME_BELOW, at_most=BELOW, slack=SLACK, noise=Bounded(0, 100))
    return Settings(
        delta=question.delta,
        noise=TARGET.noise,
        tolerance=question.tolerance,
        budget=question.budget,
        objective=IN_RANGE,
        limits=[limit],
        common_random_numbers=True,
    )


@dataclass(frozen=True, eq=False)
class _TargetTruth:
    """The findings of exhaustive simulation.

    Attributes:
        within, below: (n_arms,) the worst mean of each output.
        right: (n_arms,) arms that are right answers, as far as simulation can tell: they qualify to
            within the slack, and no arm that qualifies is better by more than the tolerance.
        nobody: whether no arm qualifies, as far as simulation can tell.
        worst_pairs: (n_arms,) the pair with the most time below, or else the least in range.
        samples: pulls.
    """

    within: Array
    below: Array
    right: NDArray[np.bool_]
    nobody: bool
    worst_pairs: IntArray
    samples: int


def _find_truth(dosing: Dosing, source: np.random.SeedSequence, tolerance: float) -> _TargetTruth:
    """Simulate every pair many times."""
    problem = dosing.linear
    pairs = np.repeat(np.arange(problem.n_pairs), REPLICATES)
    days = simulated_days(dosing, pairs, lane_seeds(source, (len(DAYS), len(pairs))))
    outputs = [part(days).sum(axis=0) for part in (TARGET.of_a_day, TARGET.others[TIME_BELOW])]
    each = np.stack(outputs).reshape(2, problem.n_pairs, REPLICATES)
    within, below = each.mean(axis=2)
    errors = ERRORS * each.std(axis=2, ddof=1) / np.sqrt(REPLICATES)

    def most(values: Array) -> Array:
        return -problem.worst_of(-values)

    surely = most(below + errors[1]) <= BELOW
    perhaps = most(below - errors[1]) <= BELOW + SLACK
    values = problem.worst_of(within - errors[0])
    floor = values[surely].max() if surely.any() else -np.inf
    right = perhaps & (problem.worst_of(within + errors[0]) >= floor - tolerance)
    low, worst = problem.worst_pairs_of(-below), problem.worst_pairs_of(within)
    return _TargetTruth(
        within=problem.worst_of(within),
        below=most(below),
        right=right,
        nobody=bool((most(below + errors[1]) > BELOW).all()),
        worst_pairs=np.where(below[low] > 0, low, worst),
        samples=len(pairs),
    )


@dataclass(frozen=True, eq=False)
class TargetAdvice:
    """The answer for a patient, and the truth beside it."""

    plan: Plan
    dosing: Dosing
    result: Result
    truth: _TargetTruth

    @property
    def right(self) -> bool:
        """True if exhaustive simulation agrees."""
        if self.result.reason is StopReason.NONE_QUALIFIES:
            return self.truth.nobody
        return bool(self.truth.right[self.result.arm])

    @property
    def sentence(self) -> str:
        """The answer for a person."""
        result = self.result
        pulls = f"{result.samples:,} pulls of two simulated days each"
        sure = f"with {100 * (1 - self.plan.question.delta):g} % confidence after {pulls}"
        asked = f"at most {BELOW:g} % of the time below {LOW:g} mg/dL, whatever the error"
        if result.reason is StopReason.NONE_QUALIFIES:
            return f"No setting keeps {asked}, {sure}."
        carb, correction = self.dosing.arm_setting(result.arm)
        factors = f"CarbF {carb:.2f} g/U and CorrF {correction:.2f} mg/dL per U"
        if not result.certified:
            left = f"{len(result.candidates)} settings are still possible after {pulls}"
            return f"{factors} are the best guess, not certified: {left}."
        return (
            f"{factors} keep {asked} (to within {SLACK:g}), and no setting that does has "
            f"more time in range by over {self.plan.question.tolerance:g} % of it, {sure}."
        )

    @property
    def fine_print(self) -> list[str]:
        """The assumptions, and the findings of exhaustive simulation."""
        right = [self.dosing.linear.arm_names[arm] for arm in np.flatnonzero(self.truth.right)]
        return [
            f"Assumed of the time in range: {Gaussian().assumption}. Assumed of the time below "
            f"{LOW:g}: {Bounded(0, 100).assumption}. Settings meet the same sensor noise.",
            f"Truth, by {self.truth.samples:,} pulls that the choice did not see: "
            f"{'no setting qualifies' if self.truth.nobody else 'right are ' + ', '.join(right)}; "
            f"the answer is {'right' if self.right else 'not among them'}.",
        ]

    def table(self) -> pd.DataFrame:
        """Return one row per setting: its factors, worst outputs as estimated and as they are, and
        whether it is shown to qualify.
        """
        import pandas as pd

        from surefoot.view.charts import limits_frame

        factors = [self.dosing.arm_setting(arm) for arm in range(self.dosing.linear.n_arms)]
        states = limits_frame(self.result)["state"]
        return pd.DataFrame(
            {
                "setting": self.dosing.linear.arm_names,
                "CarbF": [carb for carb, _ in factors],
                "CorrF": [correction for _, correction in factors],
                f"% in {LOW:g}–{HIGH:g}": self.result.values,
                "in range, true": self.truth.within,
                f"% below {LOW:g}": self.result.against_limits[0].values,
                "below, true": self.truth.below,
                "4 % kept": states,
            }
        )


def advise(name: str, plan: Plan, tell: Callable[[str], None] = lambda step: None) -> TargetAdvice:
    """Choose, and hold the choice against the truth; reproducible to the bit from the plan."""
    dosing = make_dosing(name, plan.seed, plan.arms, plan.perturbations, TARGET, INSULIN)
    run = algorithm_from("prime").start(dosing.tabular, _target_settings(plan.question))
    simulator = BolusSimulator(dosing, stream(plan.seed, dosing.patient, "identify", 0, 1))
    result = finished(run, simulator).result
    tell("choices")
    source = stream(plan.seed, dosing.patient, "truth", 1)
    truth = _find_truth(dosing, source, plan.question.tolerance)
    tell("truth")
    return TargetAdvice(plan, dosing, result, truth)


def page_of(advice: TargetAdvice) -> Page:
    """Return the page of a patient."""
    from surefoot.view.charts.arms import arms_drawing
    from surefoot.view.charts.evidence import limit_drawing

    name, result, table = advice.dosing.patient.name, advice.result, advice.table()
    rows = [
        (row[0], *(value if isinstance(value, str) else decimals(value) for value in row[1:]))
        for row in table.itertuples(index=False, name=None)
    ]
    chosen = [] if result.reason is StopReason.NONE_QUALIFIES else [result.arm]
    return Page(
        name=name,
        title="time in range, with at most 4 % below 70 mg/dL",
        stem=f"{name.replace('#', '-')}-target",
        certified=result.certified,
        sentence=advice.sentence,
        beside=result.beside,
        profiles=_profiles(advice),
        charts={
            "arms": arms_drawing(result, "Worst time in range of each setting").spec(),
            "limit1": limit_drawing(result, 0).spec(),
        },
        described={
            "arms": "Chart: the worst time in range of each setting with its interval",
            "limit1": "Chart: the most time below 70 mg/dL of each setting, and the 4 % as a line",
        },
        listings=[Listing("All settings", list(table.columns), rows, chosen)],
        fine_print=advice.fine_print,
    )


def _profiles(advice: TargetAdvice) -> dict[str, pd.DataFrame]:
    """Return glucose profiles of the calculator's own setting and of the answer, by title."""
    import pandas as pd

    plan, dosing, arm = advice.plan, advice.dosing, advice.result.arm
    insulin = dosing.patient.total_daily_insulin
    standard = make_dosing(dosing.patient, plan.seed, 3, plan.perturbations)
    own = standard.arm_setting(standard.baseline_arm)
    worst = dosing.pair_setting(int(advice.truth.worst_pairs[arm]))
    found: dict[str, tuple[float, float]] = {f"Standard calculator, TDI {insulin:.2f}": own}
    if advice.result.reason is not StopReason.NONE_QUALIFIES:
        found |= {"Recommended": dosing.arm_setting(arm), "Recommended, worst error": worst}
    made: dict[str, Profile] = {
        title: daily_profile(dosing, setting, plan.runs, plan.seed)
        for title, setting in found.items()
    }
    return {title: pd.DataFrame(profile) for title, profile in made.items()}
