"""PRIME's outlook: how likely the leader's comparisons are to be settled, how far off that is, and how many pulls now.

Compiled where a run asks for it again and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from surefoot.arrays import Array, IntArray
from surefoot.design.finishing_kernels import log_normal

MOST_RIVALS = 40  # the most pressing ones; the rest are settled on the way
HOPE = 0.6  # look as far ahead as this probability of finishing needs
AHEAD = np.linspace(0.0, 1.0, 24)  # from the next look to a thousand times the data, on a log scale
DOUBT = 0.3  # how much of the gaps' own uncertainty counts
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
PATIENCE = 0.7  # what another phase costs, in planned phases
FEEBLE = 0.2  # a chance of finishing below which a phase has its planned size


@dataclass(frozen=True, eq=False)
class Look:
    """Where the walk stands before a phase.

    Attributes:
        variance: V so far.
        weight: what the next phase adds to V.
        size: its planned pulls.
        boundary: the c it will be held to.
        units: data so far, in units of the smallest phase.
    """

    variance: float
    weight: float
    size: float
    boundary: float
    units: float

    @property
    def rate(self) -> float:
        """Pulls for each unit of weight."""
        return self.size / self.weight


@dataclass(frozen=True, eq=False)
class Standing:
    """What past data say about the leader's comparisons: one entry for each (leader's pair, rival arm).

    Attributes:
        directions: (n, dimension) leader's pair minus the rival's most telling point.
        gaps: (n,) estimated gaps, positive.
        doubts: (n,) standard deviations of those gaps.
        lengths: (n,) ‖direction‖ under the design in hand.
        held: (n,) evidence so far.
    """

    directions: Array
    gaps: Array
    doubts: Array
    lengths: Array
    held: Array

    def take(self, chosen: IntArray) -> Standing:
        return Standing(
            self.directions[chosen], self.gaps[chosen], self.doubts[chosen], self.lengths[chosen], self.held[chosen]
        )

    def most_pressing(self, look: Look, weight: float) -> Standing:
        """The comparisons least likely to be settled after that much more weight."""
        if len(self.gaps) <= MOST_RIVALS:
            return self
        scores = np.empty(len(self.gaps))
        write_scores(*self._numbers(), look.boundary, look.variance, weight, weight * look.rate, scores)
        return self.take(np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS])

    def needs(self, look: Look, weight: float) -> Array:
        """Evidence missing at that much more weight, in standard deviations of what it adds."""
        return np.asarray((look.boundary * math.sqrt(look.variance + weight) - self.held) / math.sqrt(weight))

    def spreads(self, pulls: float) -> Array:
        """Standard deviation of what that many pulls add, some of the gaps' own uncertainty included."""
        return np.asarray(np.sqrt(1 + DOUBT * pulls * (self.doubts / self.lengths) ** 2))

    def horizon(self, look: Look) -> float:
        """The least weight ahead at which finishing is likely enough, or where it is likeliest."""
        pressing = self.most_pressing(look, look.variance + look.weight)
        ahead = look.weight * (1000 * (1 + look.variance / look.weight)) ** AHEAD
        return float(ahead[first_likely(*pressing._numbers(), look.boundary, look.variance, ahead, look.rate)])

    def pulls(self, look: Look, lengths: Array) -> int:
        """Fewer pulls than planned where that will do, more where a little more may finish; under other weights."""
        numbers = self.gaps, lengths, self.doubts, self.held, look.boundary, look.variance
        factor: float = best_size(*numbers, look.weight, look.size)
        return max(1, round(factor * look.size))

    def _numbers(self) -> tuple[Array, Array, Array, Array]:
        return self.gaps, self.lengths, self.doubts, self.held


@njit(cache=True, error_model="numpy")
def write_scores(
    gaps: Array,
    lengths: Array,
    doubts: Array,
    held: Array,
    boundary: float,
    variance: float,
    weight: float,
    pulls: float,
    scores: Array,
) -> None:
    """How likely each comparison is settled after that much more weight and that many pulls, as normal scores."""
    for k in range(len(gaps)):
        need = (boundary * math.sqrt(variance + weight) - held[k]) / math.sqrt(weight)
        spread = math.sqrt(1 + DOUBT * pulls * (doubts[k] / lengths[k]) ** 2)
        scores[k] = (math.sqrt(pulls) * (gaps[k] / lengths[k]) - need) / spread


@njit(cache=True, error_model="numpy")
def log_chance(
    gaps: Array,
    lengths: Array,
    doubts: Array,
    held: Array,
    boundary: float,
    variance: float,
    weight: float,
    pulls: float,
) -> float:
    """Log-probability that all are settled then, as if they were independent."""
    scores = np.empty(len(gaps))
    write_scores(gaps, lengths, doubts, held, boundary, variance, weight, pulls, scores)
    total = 0.0
    for score in scores:
        total += log_normal(score)
    return total


@njit(cache=True, error_model="numpy")
def first_likely(
    gaps: Array,
    lengths: Array,
    doubts: Array,
    held: Array,
    boundary: float,
    variance: float,
    ahead: Array,
    rate: float,
) -> int:
    """Which of these weights ahead is the first with enough hope, or else the one with most."""
    best, most = 0, -np.inf
    for k in range(len(ahead)):
        chance = log_chance(gaps, lengths, doubts, held, boundary, variance, ahead[k], ahead[k] * rate)
        if chance >= math.log(HOPE):
            return k
        if chance > most:
            best, most = k, chance
    return best


@njit(cache=True, error_model="numpy")
def best_size(
    gaps: Array,
    lengths: Array,
    doubts: Array,
    held: Array,
    boundary: float,
    variance: float,
    weight: float,
    planned: float,
) -> float:
    """How many times its planned size a phase should have: pulls against the price of another phase."""
    best, least = 1.0, np.inf
    for size in SIZES[::-1]:
        chance = math.exp(log_chance(gaps, lengths, doubts, held, boundary, variance, weight, size * planned))
        if size == SIZES[-1] and chance <= FEEBLE:
            return 1.0
        cost = size + PATIENCE * (1 - chance)
        if cost <= least:
            best, least = size, cost
    return best
