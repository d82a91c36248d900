"""Robust Track-and-Stop: pull as the exact complexity at the estimate says, until the likelihood
ratio is large.

Track-and-Stop (Garivier and Kaufmann, 2016) for the robust problem: the optimal weights of H* are
those of `exact_separation` at the estimate, followed on average (C-tracking), with forced
exploration along λ^G. It stops when the generalised likelihood ratio ½ min ‖θ' − θ̂‖²_A, over all θ'
under which another arm is best, reaches ½ β².

The answer is proved: θ is within β of θ̂ at all looks with probability 1 − δ, β being the
radius of a self-normalised ellipsoid (Abbasi-Yadkori, Pál and Szepesvári, 2011), and then no θ' so
far away is the truth. A cost near H* is not proved: β² is about 2 log(1/δ) + d log n, not
2 log(1/δ), the weights are worked out again only at every look, and looks are some pulls apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.fitting import information
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.design.designs import by_remainders, g_weights, round_design
from surefoot.design.separation import exact_separation, squared_distances
from surefoot.design.whitening import whiten
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome

ACCURACY = 0.05  # of the weights: they follow an estimate, so more would be wasted


@dataclass(eq=False)
class RobustTrackAndStop(Algorithm):
    """Tracks the weights of the exact complexity at the estimate; stops by the likelihood ratio.

    Attributes:
        growth: by which the pulls grow from look to look.
    """

    growth: float = 1.2
    name: ClassVar[str] = "robust-track-and-stop"
    supports: ClassVar[frozenset[str]] = frozenset()

    def begin(self) -> None:
        self.spread = g_weights(self.problem, self.tally.scales)
        # in any units of the features
        self.coordinates, self.measured = whiten(self.problem.pairs, self.tally.rows)
        self.wanted = np.zeros(self.problem.n_pairs)  # Σ w_t over the pulls so far

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        if self.remaining < 1:
            return StopReason.BUDGET
        support = int((self.spread > 0).sum())
        if not self.samples:  # fixed before any data: it spans all directions
            return round_design(self.spread, int(min(2 * support, self.remaining)))
        pulls = int(min(math.ceil((self.growth - 1) * self.samples), self.remaining))
        self.want(pulls)
        return self._tracked(pulls)

    def want(self, pulls: int) -> None:
        """Add to `wanted` where the next pulls should go."""
        share = min(math.sqrt((self.spread > 0).sum() / self.samples), 1.0) / 2
        self.wanted += pulls * ((1 - share) * self._weights() + share * self.spread)

    def learn(self, outcome: Outcome) -> None:
        if not self.wanted.any():
            self.wanted += outcome.counts
        offsets, means = self.problem.offsets, self.problem.pairs @ self.tally.estimate
        self.leader = int(np.argmax(self.problem.worst_of(means)))
        seen = information(self.measured, self.tally.counts)
        squares = squared_distances(self.coordinates, offsets, means, seen, self.leader)
        self.evidence, self.boundary = np.sqrt(squares), self.tally.ellipsoid_radius
        self.survivors = self.evidence < self.boundary
        self.survivors[self.leader] = True

    def _weights(self) -> Array:
        """Return w*(θ̂), or weights that explore where arms are tied at the estimate."""
        problem, theta = self.problem, self.tally.estimate
        instance = (problem.pairs, problem.offsets, theta, self.leader)
        try:
            design = exact_separation(*instance, rows=self.tally.rows, tolerance=ACCURACY)
        except (InputError, np.linalg.LinAlgError):
            return self.spread
        return design.weights

    def _tracked(self, pulls: int) -> Counts:
        """Return that many pulls, where the counts lag most behind their targets."""
        lag = np.maximum(self.wanted - self.tally.counts, 0.0)
        return by_remainders(pulls * lag / lag.sum(), pulls)
