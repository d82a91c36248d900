"""KN-RSB: sequential robust selection of the best, in the manner of Kim and Nelson (2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.peers.base import Peer, positive, whole
from surefoot.algorithms.reasons import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.groups import largest_of, members_of, smallest_of
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class KnRsb(Peer):
    """Pull all pairs of all arms that are left, round by round; drop an arm when another is ahead.

    Pair a is ahead of pair b, for good, once Σ (X_a − X_b) > W_ab(r) = max{0, (zone / 2)
    (h² S²_ab / zone² − r)} after r rounds and b was not ahead before. S²_ab is the variance of
    X_a − X_b in the first stage, h² = 2 η (n₀ − 1), η = ½ [(2β)^(−2 / (n₀ − 1)) − 1] and β =
    δ / ((k − 1) m): it bounds the chance that a sum leaves (−W, W) *first* on the wrong side, so
    what comes back later does not count. An arm is dropped if every pair of some other arm is
    ahead of one of its own.

    It promises the best arm with probability 1 − δ *only if its worst case is ahead of all others
    by the zone or more*. Rewards are normal, of any variances; within a round they may depend on
    each other, so common random numbers are allowed.

    Attributes:
        zone: the indifference zone, in the unit of the rewards.
        first_pulls: n₀.
        step: rounds from look to look; 1 as published.
    """

    zone: float | None = None
    first_pulls: int = 20
    step: int = 1
    name: ClassVar[str] = "kn-rsb"
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)
    shares_streams: ClassVar[bool] = True

    def begin(self) -> None:
        self._zone = positive(self.name, "zone", self.zone)
        self._first = whole(self.name, "first_pulls", self.first_pulls, 2)
        whole(self.name, "step", self.step, 1)
        self.shared = bool(self.settings.common_random_numbers)
        self.reach: Array | None = None  # (n_pairs, n_pairs) h² S²_ab / zone²
        n_pairs = self.problem.n_pairs
        self.ahead = np.zeros((n_pairs, n_pairs), dtype=bool)  # the first of the second

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.INDIFFERENCE_ZONE
        pulls = self._first if self.reach is None else self.step
        self.batches = pulls if self.reach is None or self.shared else 0
        return np.where(self.survivors[self.problem.arm_of_pair], pulls, 0)

    def learn(self, outcome: Outcome) -> None:
        if self.reach is None:
            self.reach = self._reach_of_variance() * _variances_of_differences(outcome.batch_sums)
        alive = np.flatnonzero(self.survivors)
        self._compare(alive)
        beaten = self._beaten(alive)
        if beaten.all():  # each by another, in a circle
            beaten[np.argmax(self.problem.worst_of(self.averages)[alive])] = False
        self.survivors[alive[beaten]] = False
        values = np.where(self.survivors, self.problem.worst_of(self.averages), -np.inf)
        self.leader = int(np.argmax(values))

    def _compare(self, arms: IntArray) -> None:
        """Settle comparisons whose sums have left (−W, W)."""
        assert self.reach is not None
        kept, _ = members_of(arms, self.problem.offsets)
        cells = np.ix_(kept, kept)
        sums, rounds = self.tally.sums[kept], float(self.tally.counts[kept][0])
        needed = np.maximum(0.0, self._zone / 2 * (self.reach[cells] - rounds))  # W_ab(r)
        out = sums[:, None] - sums[None, :] > needed
        self.ahead[cells] |= out & ~self.ahead[cells].T

    def _beaten(self, arms: IntArray) -> NDArray[np.bool_]:
        """(n,) whether some other of these arms is ahead."""
        kept, offsets = members_of(arms, self.problem.offsets)
        ahead = self.ahead[np.ix_(kept, kept)].astype(np.float64)
        of_one = largest_of(ahead, offsets)  # of one pair of the arm
        by_all = smallest_of(of_one, offsets, axis=0)  # by all pairs of the other
        np.fill_diagonal(by_all, 0.0)
        return np.asarray((by_all > 0).any(axis=0))

    def _reach_of_variance(self) -> float:
        """h² / zone²."""
        most = int(np.diff(self.problem.offsets).max())
        beta = self.settings.delta / ((self.problem.n_arms - 1) * most)
        freedom = self._first - 1
        eta = ((2 * beta) ** (-2 / freedom) - 1) / 2
        return float(2 * eta * freedom / self._zone**2)


def _variances_of_differences(rewards: Array) -> Array:
    """(n_pairs, n_pairs) S²_ab, from (n, n_pairs) rewards of the first stage."""
    centred = rewards - rewards.mean(axis=0)
    products = centred.T @ centred / (len(rewards) - 1)
    own = np.diag(products)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0))
