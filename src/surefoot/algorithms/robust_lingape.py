"""Robust LinGapE, the paper's future work: measure the direction that best resolves the leader.

LinGapE (Xu, Honda and Sugiyama, 2018) with the paper's robust stopping rule `eq:11`, whose
threshold is that of a self-normalised ellipsoid (Abbasi-Yadkori, Pál and Szepesvári, 2011), valid
however pulls depend on rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.estimates import Estimates, Frame, decided
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import g_weights, round_design
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class RobustLinGapE(Algorithm):
    """Pull the pairs that best resolve the leader against its most dangerous rival, in growing
    batches.

    Attributes:
        growth: by which the pulls grow from look to look.
        decisions: into how many choices a batch is split; each takes account of the batch's earlier
            pulls.
    """

    growth: float = 1.2
    decisions: int = 4
    name: ClassVar[str] = "robust-lingape"
    supports: ClassVar[frozenset[str]] = frozenset()

    def begin(self) -> None:
        self.frame = Frame.of(self.problem, self.tally.scales)
        self.estimates: Estimates | None = None
        self.radius = math.inf

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        if self.remaining < 1:
            return StopReason.BUDGET
        if self.estimates is None:
            return self._first_phase()
        pulls = int(min(math.ceil((self.growth - 1) * self.samples), self.remaining))
        return decided(self._choose, self.estimates, self.tally.scales, pulls, self.decisions)

    def learn(self, outcome: Outcome) -> None:
        self.estimates = self.frame.estimate(self.tally.counts, self.tally.sums)
        self.radius = self.tally.ellipsoid_radius
        self.leader = int(np.argmax(self.estimates.robust_values))
        self.evidence = self.estimates.clearance(np.array([self.leader]))[0]  # eq:11
        self.boundary = self.radius
        self.survivors = self.evidence < self.radius
        self.survivors[self.leader] = True

    def _first_phase(self) -> Counts:
        """Twice the support of λ^G, fixed before any data: it spans all directions."""
        weights = g_weights(self.problem, self.tally.scales)
        return round_design(weights, int(min(2 * len(np.flatnonzero(weights)), self.remaining)))

    def _choose(self, estimates: Estimates, pulls: int) -> int:
        """Return the pair whose pulls most reduce the standard error of the clouded direction."""
        measured = estimates.located / self.tally.scales[:, None]
        gain = (measured @ self._clouded(estimates)) ** 2
        return int(np.argmax(gain / (1 + pulls * np.einsum("ij,ij->i", measured, measured))))

    def _clouded(self, estimates: Estimates) -> Array:
        """Return (rank,) z − z' of the leader and the rival that may be furthest above it."""
        offsets = self.problem.offsets
        own = np.arange(offsets[self.leader], offsets[self.leader + 1])
        upper = estimates.upper_gaps(own, self.radius)
        at_worst = self.problem.worst_of(upper)
        at_worst[:, self.leader] = -np.inf
        at_worst[np.isposinf(at_worst)] = -np.inf
        row, rival = np.unravel_index(int(np.argmax(at_worst)), at_worst.shape)
        witness = self.problem.worst_pair(int(rival), upper[row])
        return np.asarray(estimates.located[own[row]] - estimates.located[witness])
