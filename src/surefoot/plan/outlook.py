"""How likely and how soon all is settled, and the shares of pulls that make it likeliest.

Comparison k, with gap g and deviation v in a phase, has after h such phases the signal g √h / v. It
is settled with probability about Φ((a · signal − b − c / signal) / spread): b is evidence missing
in standard deviations, c evidence missing as the logarithm of a wealth. Where contrasts are least
squares, log Φ of all of them is concave in the shares of pulls, and λ ← λ √gradient climbs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.plan.contrasts import Compared
from surefoot.plan.shares import Aims, Needs, climb

MOST_RIVALS = 60  # comparisons that shares are chosen by: the most pressing; others settle by them
STEPS = 100  # of climbing, at most
# sizes that a phase may have, in planned sizes
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
ANOTHER = 0.7  # cost of another phase, in planned phases
FEEBLE = 0.2  # chance of finishing up to which a phase keeps its planned size


class Lacking(NamedTuple):
    """Evidence that is missing after some phases: (n_horizons, n) each.

    Attributes:
        slope: a.
        evidence: b.
        wealth: c.
    """

    slope: float
    evidence: Array
    wealth: Array


class Ahead(NamedTuple):
    """The phases to come, as clocks see them.

    Attributes:
        phases: (n_horizons,) numbers of phases like the next one that are looked ahead.
        doubling: the number at which data will be about twice what they are.
        lacking: from numbers of phases, (n,) tested arms and (n,) evidence held, to what is
            missing.
    """

    phases: Array
    doubling: float
    lacking: Callable[[Array, IntArray, Array], Lacking]


class Outlook(NamedTuple):
    """Open comparisons, (n,) each, and what is ahead of them.

    Attributes:
        own, arms: which of the own pairs, and of the tested arms.
        gaps: expected, positive.
        doubts: standard deviations of the expectations.
        lengths: standard deviations in the phase.
        held: evidence so far.
        ahead: the phases to come.
        doubt: share of the gaps' own uncertainty that counts.
    """

    own: IntArray
    arms: IntArray
    gaps: Array
    doubts: Array
    lengths: Array
    held: Array
    ahead: Ahead
    doubt: float

    @classmethod
    def of(
        cls, compared: Compared, ahead: Ahead, tolerance: float, slight: float, doubt: float
    ) -> Outlook:
        """Look at what is open and measured; gaps are `slight` of their doubts at least."""
        held = compared.race.held
        own, arms = np.nonzero(np.isfinite(held) & (compared.lengths > 0))
        gaps, doubts = compared.gaps[own, arms] + tolerance, compared.doubts[own, arms]
        least = 1e-9 * np.abs(gaps).max(initial=0.0) + 1e-300
        gaps = np.maximum(gaps, np.maximum(slight * doubts, least))
        lengths = compared.lengths[own, arms]
        return cls(own, arms, gaps, doubts, lengths, held[own, arms], ahead, doubt)

    def pressing(self) -> Outlook:
        """Return those least likely to be settled by the time that data have doubled."""
        if len(self.gaps) <= MOST_RIVALS:
            return self
        scores = self._scores(np.array([self.ahead.doubling]))[0]
        return self.take(np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS])

    def horizon(self, hope: float) -> float:
        """Return the first number of phases at which finishing is likely enough, or likeliest."""
        chances = special.log_ndtr(self._scores(self.ahead.phases)).sum(axis=1)
        enough = chances >= math.log(hope)
        return float(self.ahead.phases[(enough if enough.any() else chances).argmax()])

    def size(self, lengths: Array) -> float:
        """Return how many planned sizes the phase should have: pulls against another phase.

        Args:
            lengths: (n,) deviations in the phase as planned, with the shares chosen for it.
        """
        scores = self._replace(lengths=lengths)._scores(np.ones(1), SIZES[:, None])
        chances = np.exp(special.log_ndtr(scores).sum(axis=1))
        if chances[-1] <= FEEBLE:
            return 1.0
        costs = SIZES + ANOTHER * (1 - chances)
        return float(SIZES[costs.argmin()])

    def take(self, chosen: IntArray) -> Outlook:
        return self._replace(
            own=self.own[chosen],
            arms=self.arms[chosen],
            gaps=self.gaps[chosen],
            doubts=self.doubts[chosen],
            lengths=self.lengths[chosen],
            held=self.held[chosen],
        )

    def spreads(self, data: Array) -> Array:
        return np.asarray(np.sqrt(1 + self.doubt * data * (self.doubts / self.lengths) ** 2))

    def _scores(self, phases: Array, sizes: Array | float = 1.0) -> Array:
        """(n_horizons, n) how likely each is settled after these phases, as normal scores."""
        data = phases[:, None] * sizes
        signal = np.sqrt(data) * (self.gaps / self.lengths)
        slope, evidence, wealth = self.ahead.lacking(phases, self.arms, self.held)
        return np.asarray((slope * signal - evidence - wealth / signal) / self.spreads(data))


def climbed(
    outlook: Outlook, compared: Compared, candidates: Pullable, start: Array, horizon: float
) -> tuple[Array, Array]:
    """(n_candidates,) shares under which all are likelier settled at the horizon; (n,) lengths.

    Args:
        start: (n_candidates,) shares to begin with.
        horizon: in phases.
    """
    deviation = np.broadcast_to(compared.deviation, compared.gaps.shape)
    order = np.argsort(deviation[outlook.own, outlook.arms], kind="stable")
    chosen = outlook.take(order)
    own, arms = chosen.own, chosen.arms
    deviations, starts = np.unique(deviation[own, arms], return_index=True)
    aims = Aims(
        candidates.features[candidates.pairs],
        candidates.noise / candidates.pulls,
        compared.differences(own, arms, candidates.features),
        compared.on_pulled(own, arms, candidates.pairs, len(candidates.features)),
        np.append(starts, len(order)),
        deviations,
    )
    slope, evidence, wealth = outlook.ahead.lacking(np.array([horizon]), arms, chosen.held)
    spreads = chosen.spreads(np.array([[horizon]]))[0]
    needs = Needs(chosen.gaps, evidence[0], wealth[0], spreads, slope, horizon)
    shares, lengths = start / start.sum(), np.empty(len(order))
    climb(aims, needs, shares, lengths, STEPS)
    return shares, lengths[np.argsort(order)]


class Pullable(NamedTuple):
    """The pairs that may be pulled.

    Attributes:
        pairs: (n_candidates,) which.
        noise: (n_candidates,) variances of single pulls.
        features: (n_pairs, dimension) of all pairs.
        pulls: of the phase as planned.
    """

    pairs: IntArray
    noise: Array
    features: Array
    pulls: float
