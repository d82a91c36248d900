"""Pacing: how large phases must be, and what evidence still needs, for each kind of noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.planner import Past
from surefoot.algorithms.prime.direct.clocks import Clocks, Forecast
from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary, Stakes


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


class Judge(ABC):
    """Knows what phases must be like.

    Attributes:
        least_batches: batches that a phase needs at least; 0 if it needs none.
        most_batches: batches beyond which more make no difference.
        whole: whether only pulls in batches count.
    """

    least_batches = 0
    most_batches = 0
    whole = False

    @abstractmethod
    def missing(
        self, past: Past, contest: Contest, held: Array, outlook: Outlook, ahead: Array
    ) -> Missing:
        """Return what (n_own, n_tested) `held` lacks, after (n_horizons,) phases like the next."""

    @abstractmethod
    def clocks_after(self, past: Past, contest: Contest, forecast: Forecast) -> IntArray:
        """(n_tested,) the points of the grid that clocks go on to."""

    def count(self, contest: Contest, forecast: Forecast) -> None:  # noqa: B027
        """Remember what a phase that is to be pulled was expected to say."""

    def stakes(self, outlook: Outlook, batches: int) -> Stakes | None:
        """Return the guesses that bets follow from, where evidence is a wealth."""
        return None

    def least_pulls(self, past: Past, contest: Contest) -> int:
        """Return the pulls of each pair that the next phase needs."""
        return max(self.least_batches, 1)


class NormalJudge(Judge):
    """Scores that are standard normal for a difference of zero, on each arm's own clock."""

    def __init__(self, boundary: Boundary, n_arms: int, tuning: Tuning) -> None:
        self.tuning, self.clocks = tuning, Clocks(boundary, n_arms)

    def missing(
        self, past: Past, contest: Contest, held: Array, outlook: Outlook, ahead: Array
    ) -> Missing:
        walks, following = past.certifier.walks, self.clocks_after(past, contest, outlook.forecast)
        places, starts = past.places[contest.arms], walks.starts[contest.arms]
        now = self.clocks.now(places)
        passing = ahead[:, None] * (self.clocks.times[following] - now)
        level = self.clocks.level(np.where(starts < 0, following, starts), now + passing)
        evidence = (level[:, None] - held) / np.sqrt(passing)[:, None]
        return Missing(1.0, evidence, np.zeros_like(evidence))

    def clocks_after(self, past: Past, contest: Contest, forecast: Forecast) -> IntArray:
        places = past.places[contest.arms]
        return self.clocks.next(contest.arms, places, forecast)

    def count(self, contest: Contest, forecast: Forecast) -> None:
        self.clocks.count(contest.arms, forecast)


class PooledJudge(NormalJudge):
    """The noise is unknown, but the same for all pairs: one variance from the phase itself."""

    def least_pulls(self, past: Past, contest: Contest) -> int:
        return self.tuning.pooled_pulls


class StudentJudge(NormalJudge):
    """The noise is unknown and may differ from pair to pair: t statistics of batches."""

    def __init__(self, boundary: Boundary, n_arms: int, tuning: Tuning) -> None:
        super().__init__(boundary, n_arms, tuning)
        self.least_batches, self.most_batches = tuning.score_least, tuning.score_most

    def least_pulls(self, past: Past, contest: Contest) -> int:
        """Return as many as the means of compared differences need to be nearly normal.

        Only rare falls count: rare rises make a difference seem smaller than it is.
        """
        assert past.doubt is not None
        cells = np.ix_(contest.places, contest.rivals)
        most = -float(past.doubt.shapes.skewness(contest.challenger)[cells].min(initial=0.0))
        wanted = min(self.tuning.skew_pulls * most**2, self.tuning.skew_most)
        return max(self.least_batches, int(wanted))


class BettingJudge(Judge):
    """Nothing but the range of the rewards is known: the logarithm of a wealth."""

    whole = True

    def __init__(self, level: float, tolerance: float, tuning: Tuning) -> None:
        self.least_batches, self.most_batches = tuning.wealth_least, tuning.wealth_most
        self._level, self._aim = level, tuning.wealth_aim * tolerance

    def missing(
        self, past: Past, contest: Contest, held: Array, outlook: Outlook, ahead: Array
    ) -> Missing:
        shape = (len(ahead), *held.shape)
        lacking = np.maximum(self._level - held, 1e-3)
        return Missing(0.5, np.zeros(shape), np.broadcast_to(lacking, shape))

    def clocks_after(self, past: Past, contest: Contest, forecast: Forecast) -> IntArray:
        return np.zeros(len(contest.arms), dtype=np.int64)

    def stakes(self, outlook: Outlook, batches: int) -> Stakes:
        return Stakes(outlook.gaps, outlook.doubts, batches * outlook.variances, self._aim)


JUDGES: dict[str, type[NormalJudge]] = {
    "scales": NormalJudge,
    "residual": PooledJudge,
    "batches": StudentJudge,
}
