"""PRIME's outlook: how likely and how soon all is settled, and how many pulls to make now.

Compiled where a run asks for it again and again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.constants import Foresight
from surefoot.algorithms.prime.finishing import Rivals
from surefoot.algorithms.prime.finishing.kernels import log_normal, settling_score
from surefoot.algorithms.prime.schedule import Look
from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel


class Standing(NamedTuple):
    """What past data say about the leader: one entry for each (leader's pair, rival arm).

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


class Outlook(NamedTuple):
    """What can be expected of the phases to come."""

    standing: Standing
    look: Look
    foresight: Foresight

    def most_pressing(self, weight: float) -> Outlook:
        """The same for the entries least likely to be settled after that much more weight."""
        most = self.foresight.most_rivals
        if len(self.standing.gaps) <= most:
            return self
        scores = np.empty(len(self.standing.gaps))
        write_scores(self, weight, weight * (self.look.size / self.look.weight), scores)
        return self._replace(standing=self.standing.take(np.argpartition(scores, most)[:most]))

    def rivals(self, weight: float) -> Rivals:
        """What a design has to settle by the time of that much more weight."""
        standing, pulls = self.standing, weight * (self.look.size / self.look.weight)
        needs, spreads = np.empty(len(standing.gaps)), np.empty(len(standing.gaps))
        write_needs(self, weight, pulls, needs, spreads)
        return Rivals(standing.directions, standing.gaps, needs, spreads, pulls)

    def horizon(self) -> float:
        """The least weight ahead at which finishing is likely enough, or where it is likeliest."""
        pressing = self.most_pressing(self.look.variance + self.look.weight)
        steps = self.foresight.ahead
        reach = self.foresight.furthest * (1 + self.look.variance / self.look.weight)
        ahead = self.look.weight * reach**steps
        return float(ahead[first_likely(pressing, ahead)])

    def pulls(self, lengths: Array) -> int:
        """Fewer pulls than scheduled where that will do, more where a little more may finish.

        Args:
            lengths: (n,) ‖direction‖ under the design that the pulls follow.
        """
        designed = self._replace(standing=self.standing._replace(lengths=lengths))
        factor: float = best_size(designed)
        return max(1, round(factor * self.look.size))


@kernel
def write_needs(
    outlook: Outlook, weight: float, pulls: float, needs: Array, spreads: Array
) -> None:
    """Evidence missing at that much more weight, in standard deviations; and what it varies by.

    That many pulls add evidence with standard deviation 1, and some of the gaps' own uncertainty.
    """
    standing, look, doubt = outlook.standing, outlook.look, outlook.foresight.doubt
    for k in range(len(needs)):
        needs[k] = (
            look.boundary * math.sqrt(look.variance + weight) - standing.held[k]
        ) / math.sqrt(weight)
        spreads[k] = math.sqrt(1 + doubt * pulls * (standing.doubts[k] / standing.lengths[k]) ** 2)


@kernel
def write_scores(outlook: Outlook, weight: float, pulls: float, scores: Array) -> None:
    """How likely each entry is settled after that much more weight, as normal scores."""
    spreads = np.empty(len(scores))
    write_needs(outlook, weight, pulls, scores, spreads)
    for k in range(len(scores)):
        gain = math.sqrt(pulls) * (outlook.standing.gaps[k] / outlook.standing.lengths[k])
        scores[k] = settling_score(gain, scores[k], spreads[k])


@kernel
def log_chance(outlook: Outlook, weight: float, pulls: float) -> float:
    """Log-probability that all are settled then, as if they were independent."""
    scores = np.empty(len(outlook.standing.gaps))
    write_scores(outlook, weight, pulls, scores)
    total = 0.0
    for score in scores:
        total += log_normal(score)
    return total


@kernel
def first_likely(outlook: Outlook, ahead: Array) -> int:
    """Which of these weights ahead is the first with enough hope, or else the one with most."""
    best, most = 0, -np.inf
    for k in range(len(ahead)):
        pulls = ahead[k] * (outlook.look.size / outlook.look.weight)
        chance = log_chance(outlook, ahead[k], pulls)
        if chance >= math.log(outlook.foresight.hope):
            return k
        if chance > most:
            best, most = k, chance
    return best


@kernel
def best_size(outlook: Outlook) -> float:
    """How many scheduled sizes a phase should have: pulls against the price of another phase."""
    best, least, look, foresight = 1.0, np.inf, outlook.look, outlook.foresight
    for k in range(len(foresight.sizes) - 1, -1, -1):
        size = foresight.sizes[k]
        chance = math.exp(log_chance(outlook, look.weight, size * look.size))
        if k == len(foresight.sizes) - 1 and chance <= foresight.feeble:
            return 1.0
        cost = size + foresight.patience * (1 - chance)
        if cost <= least:
            best, least = size, cost
    return best
