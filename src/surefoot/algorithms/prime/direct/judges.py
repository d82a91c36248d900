"""Judges: what a phase adds to the evidence, and how much is enough, for each kind of noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.prime.direct.clocks import Clocks, Forecast, Grid
from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array, IntArray
from surefoot.evidence.betting import Prior, log_wealth
from surefoot.evidence.levels import Levels
from surefoot.evidence.student import normal_scores, student_scores
from surefoot.evidence.together import Together, Weighed
from surefoot.statistics import Outcome, Phase


class Outlook(NamedTuple):
    """What past data say of a contest, before its phase.

    Attributes:
        gaps: (n_own, n_tested) expected differences.
        doubts: (n_own, n_tested) standard deviations of these expectations.
        variances: (n_own, n_tested) of the differences as the phase will estimate them.
        forecast: what the phase is expected to say about each arm.
    """

    gaps: Array
    doubts: Array
    variances: Array
    forecast: Forecast


class Missing(NamedTuple):
    """Evidence that comparisons still need, in the terms of `shares.Need`: (n_horizons, n_own,
    n_tested), or what gives that.
    """

    slope: float
    evidence: Array
    wealth: Array


class Verdicts(NamedTuple):
    """(n_own, n_tested) what a phase adds to the evidence: plain, and eased by the tolerance."""

    plain: Array
    eased: Array


class Judge(ABC):
    """Weighs one run's phases.

    Attributes:
        least_batches: batches that a phase needs at least; 0 if it needs none.
        most_batches: batches beyond which more make no difference.
        whole: whether only pulls in batches count.
    """

    least_batches = 0
    most_batches = 0
    whole = False

    @property
    @abstractmethod
    def boundary(self) -> Array:
        """(n_arms,) an arm is eliminated when its evidence, divided by its root, reaches this."""

    @property
    @abstractmethod
    def roots(self) -> Array:
        """(n_arms,) the units in which each arm's evidence is held against the boundary."""

    @property
    @abstractmethod
    def looks(self) -> IntArray:
        """(n_arms,) which of the planned looks each arm's evidence is at."""

    @property
    @abstractmethod
    def exhausted(self) -> NDArray[np.bool_]:
        """(n_arms,) whether no more looks are planned for an arm."""

    @abstractmethod
    def missing(self, contest: Contest, held: Array, outlook: Outlook, ahead: Array) -> Missing:
        """What (n_own, n_tested) `held` lacks, after (n_horizons,) phases like the next one."""

    @abstractmethod
    def weigh(self, contest: Contest, outlook: Outlook, phase: Phase, outcome: Outcome) -> Verdicts:
        """What the phase says."""

    def see(self, outcome: Outcome) -> None:  # noqa: B027
        """Take note of a phase before it is weighed, if it is: a pilot is seen as well."""

    def skewness(self, challenger: int) -> float | None:
        """Of a challenger's differences, the largest in size; None where it does not matter."""
        return None

    def least_pulls(self, contest: Contest) -> int:
        """Pulls of each pair that the next phase needs."""
        return max(self.least_batches, 1)


class NormalJudge(Judge):
    """Scores that are standard normal for a difference of zero, on each arm's own clock.

    Args:
        scales: (n_pairs,) of the noise, known.
        tolerance: counted in the challenger's favour where it is eased.
    """

    def __init__(
        self, grid: Grid, sizes: IntArray, scales: Array, tolerance: float, tuning: Tuning
    ) -> None:
        self.scales, self.tolerance, self.tuning = scales, tolerance, tuning
        self.grid, self.clocks = grid, Clocks(grid, len(sizes))

    @property
    def boundary(self) -> Array:
        return np.asarray(self.grid.boundary[self.clocks.place])

    @property
    def roots(self) -> Array:
        return np.sqrt(np.where(self.clocks.times > 0, self.clocks.times, np.inf))

    @property
    def looks(self) -> IntArray:
        return np.asarray(np.maximum(self.clocks.place, 0))

    @property
    def exhausted(self) -> NDArray[np.bool_]:
        return self.clocks.run_down

    def missing(self, contest: Contest, held: Array, outlook: Outlook, ahead: Array) -> Missing:
        grid, step = self.grid, self.clocks.steps(contest.arms, outlook.forecast)
        passing = ahead[:, None] * step
        then = self.clocks.times[contest.arms] + passing
        level = np.interp(np.log(then), np.log(grid.times), grid.boundary) * np.sqrt(then)
        # a clock that has run down stands still: nothing is to be planned for its arm
        root = np.where(step > 0, np.sqrt(passing), np.inf)
        evidence = (level[:, None] - held) / root[:, None]
        return Missing(1.0, evidence, np.zeros_like(evidence))

    def weigh(self, contest: Contest, outlook: Outlook, phase: Phase, outcome: Outcome) -> Verdicts:
        root = np.sqrt(self.clocks.advance(contest.arms, outlook.forecast))
        plain, eased = self.scores(contest, phase, outcome)
        return Verdicts(root * plain, root * eased)

    def scores(self, contest: Contest, phase: Phase, outcome: Outcome) -> Verdicts:
        """Differences in standard errors."""
        errors = np.sqrt(contest.across(self.scales**2 / np.maximum(outcome.counts, 1)))
        gaps = contest.gaps(_means(outcome))
        return Verdicts(gaps / errors, (gaps + self.tolerance) / errors)


class PooledJudge(NormalJudge):
    """The noise is unknown, but the same for all pairs: one variance from the phase itself."""

    def scores(self, contest: Contest, phase: Phase, outcome: Outcome) -> Verdicts:
        freedom = int(np.maximum(outcome.counts - 1, 0).sum())
        variance = float(outcome.scatter.sum()) / freedom
        errors = np.sqrt(contest.across(variance / np.maximum(outcome.counts, 1)))
        gaps = contest.gaps(_means(outcome))
        if not variance:
            lowest = np.where(gaps < 0, normal_scores(np.array(-np.inf), freedom), 0.0)
            return Verdicts(lowest, lowest)
        return Verdicts(
            normal_scores(gaps / errors, freedom),
            normal_scores((gaps + self.tolerance) / errors, freedom),
        )

    def least_pulls(self, contest: Contest) -> int:
        return self.tuning.pooled_pulls


class StudentJudge(NormalJudge):
    """The noise is unknown and may differ from pair to pair: t statistics of batches."""

    def __init__(
        self, grid: Grid, sizes: IntArray, scales: Array, tolerance: float, tuning: Tuning
    ) -> None:
        super().__init__(grid, sizes, scales, tolerance, tuning)
        self.least_batches, self.most_batches = tuning.score_least, tuning.score_most
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.together = Together(sizes, offsets, tolerance, tuning.suspicion)
        self.shapes = self.together.shapes
        self.levels = Levels.unknown(int(offsets[-1]))

    def see(self, outcome: Outcome) -> None:
        self.levels = self.levels.after(outcome)

    def weigh(self, contest: Contest, outlook: Outlook, phase: Phase, outcome: Outcome) -> Verdicts:
        values = contest.values(outcome, whole=phase.shared)
        layout = contest.layout(outcome.counts, phase.batches)
        steps = self.clocks.advance(contest.arms, outlook.forecast)
        plain = student_scores(values, 0.0)
        eased = student_scores(values, self.tolerance) if self.tolerance else plain
        both, leans = np.stack([plain, eased]), contest.leans(outcome.counts)
        weighed = Weighed(values, layout, np.ones_like(layout), steps, both, leans)
        return Verdicts(*self.together.add(contest, weighed, self.levels))

    def skewness(self, challenger: int) -> float | None:
        return self.together.skewness(challenger)

    def least_pulls(self, contest: Contest) -> int:
        """As many as the means of compared differences need to be nearly normal.

        Only rare falls count: rare rises make a difference seem smaller than it is.
        """
        cells = np.ix_(contest.places, contest.columns)
        most = -float(self.shapes.skewness(contest.challenger)[cells].min(initial=0.0))
        wanted = min(self.tuning.skew_pulls * most**2, self.tuning.skew_most)
        return max(self.least_batches, int(wanted))


class BettingJudge(Judge):
    """Nothing but the range of the rewards is known: the logarithm of a wealth.

    Args:
        span: the length of the range.
    """

    whole = True

    def __init__(
        self, span: float, n_arms: int, delta: float, tolerance: float, tuning: Tuning
    ) -> None:
        self.span, self.tolerance = span, tolerance
        self.least_batches, self.most_batches = tuning.wealth_least, tuning.wealth_most
        self._level, self._n_arms = math.log(1 / delta), n_arms
        self._aim = tuning.wealth_aim * tolerance

    @property
    def boundary(self) -> Array:
        return np.full(self._n_arms, self._level)

    @property
    def roots(self) -> Array:
        return np.ones(self._n_arms)

    @property
    def looks(self) -> IntArray:
        return np.zeros(self._n_arms, dtype=np.int64)

    @property
    def exhausted(self) -> NDArray[np.bool_]:
        return np.zeros(self._n_arms, dtype=bool)

    def missing(self, contest: Contest, held: Array, outlook: Outlook, ahead: Array) -> Missing:
        shape = (len(ahead), *held.shape)
        lacking = np.maximum(self._level - held, 1e-3)
        return Missing(0.5, np.zeros(shape), np.broadcast_to(lacking, shape))

    def weigh(self, contest: Contest, outlook: Outlook, phase: Phase, outcome: Outcome) -> Verdicts:
        values = contest.values(outcome, whole=True)
        one_batch = phase.batches * outlook.variances
        prior = Prior(outlook.gaps, outlook.doubts, one_batch, self.span, self._aim)
        return Verdicts(*log_wealth(values, prior, self.tolerance))


def _means(outcome: Outcome) -> Array:
    return np.asarray(outcome.sums / np.maximum(outcome.counts, 1))
