"""A fixed share of the pulls for each pair: the frame of Static, Oracle and Uniform."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.confidence import one_sided_events, paper_threshold, valid_spending
from surefoot.algorithms.estimates import Estimates, Frame
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import round_design
from surefoot.statistics import MOST_PULLS, Counts, Outcome


class StaticAllocation(Algorithm):
    """Pull a fixed allocation: twice its support first, then by γ more at each look.

    The paper selects "γ^t samples" in phase t and leaves open what a phase is judged by. With
    `keep`, the pulls in all grow by γ and all of them count, as in the public code of Fiez et al.
    (2019): no pull depends on a reward, so nothing forbids it. Without, phase t takes γ^t pulls of
    its own and is judged by these alone, as in the public code of Lindner et al. (2022). The last
    look takes what the budget leaves.
    """

    growth: float
    keep: bool

    @abstractmethod
    def allocation(self) -> Array:
        """Return (n_pairs,) the share of the pulls each pair gets."""

    def begin(self) -> None:
        self.frame = Frame.of(self.problem, self.tally.scales)
        self.weights = self.allocation()
        self.look = 0

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        if self.remaining < 1:
            return StopReason.BUDGET
        first = 2 * np.count_nonzero(self.weights)
        if not self.keep:
            size = min(first * self.growth**self.look, self.remaining, MOST_PULLS + 1)
            return round_design(self.weights, math.ceil(size))
        total = math.ceil(self.growth * self.samples) if self.look else first
        total = int(min(total, self.samples + self.remaining))
        return grown(self.weights, self.tally.counts, total) - self.tally.counts

    def learn(self, outcome: Outcome) -> None:
        self.look += 1
        data = self.tally if self.keep else outcome
        self.stop_by(self.frame.estimate(data.counts, data.sums))

    def stop_by(self, estimates: Estimates) -> None:
        """`eq:11`: some arm beats every other. Only the arm of best estimated robust value can."""
        self.leader = int(np.argmax(estimates.robust_values))
        self.evidence = estimates.clearance(np.array([self.leader]))[0]
        self.boundary = self.threshold()
        self.survivors = self.evidence < self.boundary
        self.survivors[self.leader] = True

    def threshold(self) -> float:
        """Return the factor on the widths at this look."""
        if self.settings.rules == "paper":
            return paper_threshold(self.problem.n_pairs, self.settings.delta)
        spent = valid_spending(self.settings.delta, self.look)
        events = one_sided_events(self.problem.offsets)
        return self.settings.noise.union_threshold(events, spent)


def grown(weights: Array, counts: Counts, total: int) -> Counts:
    """Counts that follow the weights, sum to the total and are nowhere below the counts there are.

    Efficient rounding is a divisor method, so more pulls in all never mean fewer for a pair, but
    for ties that are broken differently; then the pairs furthest above their share give way.
    """
    larger = np.maximum(round_design(weights, total), counts)
    for _ in range(int(larger.sum()) - total):
        excess = np.where(
            larger > counts, (larger - 1) / np.where(weights > 0, weights, 1.0), -np.inf
        )
        larger[int(np.argmax(excess))] -= 1
    return larger
