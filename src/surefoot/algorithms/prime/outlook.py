"""PRIME's outlook: how likely the leader's comparisons are to be settled, how far off that is, and
how many pulls now.

Compiled where a run asks for it again and again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from surefoot.algorithms.prime.finishing.kernels import Rivals, log_normal
from surefoot.arrays import Array, IntArray

MOST_RIVALS = 40  # the most pressing ones; the rest are settled on the way
HOPE = 0.6  # look as far ahead as this probability of finishing needs
AHEAD = np.linspace(0.0, 1.0, 24)  # from the next look to a thousand times the data, on a log scale
DOUBT = 0.3  # how much of the gaps' own uncertainty counts
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
PATIENCE = 0.7  # what another phase costs, in planned phases
FEEBLE = 0.2  # a chance of finishing below which a phase has its planned size


class Look(NamedTuple):
    """Where the walk stands before a phase.

    Attributes:
        variance: V so far.
        weight: what the next phase adds to V.
        size: its planned pulls.
        boundary: the c it will be held to.
    """

    variance: float
    weight: float
    size: float
    boundary: float


class Standing(NamedTuple):
    """What past data say about the leader's comparisons: one entry for each (leader's pair, rival
    arm).

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
        return Standing(*(values[chosen] for values in self))

    def most_pressing(self, look: Look, weight: float) -> Standing:
        """The comparisons least likely to be settled after that much more weight."""
        if len(self.gaps) <= MOST_RIVALS:
            return self
        scores = np.empty(len(self.gaps))
        write_scores(self, look, weight, weight * (look.size / look.weight), scores)
        return self.take(np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS])

    def rivals(self, look: Look, weight: float) -> Rivals:
        """What a design has to settle by the time of that much more weight."""
        pulls, needs, spreads = (
            weight * (look.size / look.weight),
            np.empty(len(self.gaps)),
            np.empty(len(self.gaps)),
        )
        write_needs(self, look, weight, pulls, needs, spreads)
        return Rivals(self.directions, self.gaps, needs, spreads, pulls)

    def horizon(self, look: Look) -> float:
        """The least weight ahead at which finishing is likely enough, or where it is likeliest."""
        pressing = self.most_pressing(look, look.variance + look.weight)
        ahead = look.weight * (1000 * (1 + look.variance / look.weight)) ** AHEAD
        return float(ahead[first_likely(pressing, look, ahead)])

    def pulls(self, look: Look) -> int:
        """Fewer pulls than planned where that will do, more where a little more may finish."""
        factor: float = best_size(self, look)
        return max(1, round(factor * look.size))


@njit(cache=True, error_model="numpy")
def write_needs(
    standing: Standing, look: Look, weight: float, pulls: float, needs: Array, spreads: Array
) -> None:
    """Evidence missing at that much more weight, in standard deviations of what it adds; and what
    that varies by.

    That many pulls add evidence with standard deviation 1, and some of the gaps' own uncertainty.
    """
    for k in range(len(needs)):
        needs[k] = (
            look.boundary * math.sqrt(look.variance + weight) - standing.held[k]
        ) / math.sqrt(weight)
        spreads[k] = math.sqrt(1 + DOUBT * pulls * (standing.doubts[k] / standing.lengths[k]) ** 2)


@njit(cache=True, error_model="numpy")
def write_scores(
    standing: Standing, look: Look, weight: float, pulls: float, scores: Array
) -> None:
    """How likely each comparison is settled after that much more weight and that many pulls, as
    normal scores.
    """
    spreads = np.empty(len(scores))
    write_needs(standing, look, weight, pulls, scores, spreads)
    for k in range(len(scores)):
        scores[k] = (
            math.sqrt(pulls) * (standing.gaps[k] / standing.lengths[k]) - scores[k]
        ) / spreads[k]


@njit(cache=True, error_model="numpy")
def log_chance(standing: Standing, look: Look, weight: float, pulls: float) -> float:
    """Log-probability that all are settled then, as if they were independent."""
    scores = np.empty(len(standing.gaps))
    write_scores(standing, look, weight, pulls, scores)
    total = 0.0
    for score in scores:
        total += log_normal(score)
    return total


@njit(cache=True, error_model="numpy")
def first_likely(standing: Standing, look: Look, ahead: Array) -> int:
    """Which of these weights ahead is the first with enough hope, or else the one with most."""
    best, most = 0, -np.inf
    for k in range(len(ahead)):
        chance = log_chance(standing, look, ahead[k], ahead[k] * (look.size / look.weight))
        if chance >= math.log(HOPE):
            return k
        if chance > most:
            best, most = k, chance
    return best


@njit(cache=True, error_model="numpy")
def best_size(standing: Standing, look: Look) -> float:
    """How many times its planned size a phase should have: pulls against the price of another
    phase.
    """
    best, least = 1.0, np.inf
    for size in SIZES[::-1]:
        chance = math.exp(log_chance(standing, look, look.weight, size * look.size))
        if size == SIZES[-1] and chance <= FEEBLE:
            return 1.0
        cost = size + PATIENCE * (1 - chance)
        if cost <= least:
            best, least = size, cost
    return best
