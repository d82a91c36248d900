"""KN-RSB: sequential robust selection of the best, in the manner of Kim and Nelson (2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.certified import question_of
from surefoot.algorithms.peers.base import Peer, positive, whole
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.problem.grouping import members_of, smallest_of
from surefoot.statistics import Outcome
from surefoot.system.compiled import kernel


@dataclass(eq=False)
class KnRsb(Peer):
    """Pull all pairs of all arms that are left, round by round; drop an arm when another is ahead.

    Pair a is ahead of pair b, for good, once Σ (X_a − X_b) > W_ab(r) = max{0, (zone / 2)
    (h² S²_ab / zone² − r)} after r rounds and b was not ahead before. S²_ab is the variance of
    X_a − X_b in the first stage, h² = 2 η (n₀ − 1), η = ½ [(2β)^(−2 / (n₀ − 1)) − 1] and β =
    δ / ((k − 1) m): it bounds the chance that a sum leaves (−W, W) *first* on the wrong side, so
    what comes back later does not count. An arm is dropped if every pair of some other arm is
    ahead of one of its own.

    Under another measure points take the place of pairs: with measure="mean" an arm has one, the
    average of one pull of each of its pairs, and this is the procedure of Kim and Nelson itself.

    It promises the best arm with probability 1 − δ *only if its worst case (or mean, as asked) is
    ahead of all others by the zone or more*. Rewards are normal, of any variances; within a round
    they may depend on each other, so common random numbers are allowed.

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
    supports: ClassVar[frozenset[str]] = Peer.supports | {"measure"}

    def begin(self) -> None:
        self._zone = positive(self.name, "zone", self.zone)
        self._first = whole(self.name, "first_pulls", self.first_pulls, 2)
        whole(self.name, "step", self.step, 1)
        self.batches, self.shared = 0, bool(self.settings.common_random_numbers)
        self.reach: Array | None = None  # (n_points, n_points) h² S²_ab / zone²
        self.question = question_of(self.problem, self.settings.measure, np.inf)
        self.offsets = self.question.offsets
        n_points = int(self.offsets[-1])
        self.ahead = np.zeros((n_points, n_points), dtype=bool)  # the first of the second

    def next_counts(self) -> Proposal | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.INDIFFERENCE_ZONE
        return self.next_round()

    def next_round(self) -> Proposal:
        """Return as many pulls of each pair of the arms that are left."""
        pulls = self._first if self.reach is None else self.step
        batches = pulls if self.reach is None or self.shared else 0
        counts = np.where(self.survivors[self.problem.arm_of_pair], pulls, 0)
        return Proposal(counts, batches, self.shared)

    def learn(self, outcome: Outcome) -> None:
        points = self.question.points
        if self.reach is None:
            rewards = points.dot(outcome.batch_sums.T).T
            self.reach = self._reach_of_variance() * _variances_of_differences(rewards)
        alive = np.flatnonzero(self.survivors)
        kept, _ = members_of(alive, self.offsets)
        bounds = np.maximum(0.0, self._zone / 2 * (self.reach - self.rounds))  # W_ab(r)
        _settle(self.ahead, kept, points.dot(self.tally.sums[:, None])[:, 0], bounds)
        beaten = self.beaten(alive)
        if beaten.all():  # each by another, in a circle
            beaten[np.argmax(self.values[alive])] = False
        self.survivors[alive[beaten]] = False
        self.leader = int(np.argmax(np.where(self.survivors, self.values, -np.inf)))

    def beaten(self, alive: IntArray) -> NDArray[np.bool_]:
        """Return (n,) whether another of these arms is ahead."""
        return np.asarray(_beaten_of(self.ahead, alive, self.offsets))

    @property
    def rounds(self) -> float:
        """Pulls of each pair of the arms that are left."""
        return float(self.tally.counts.max())

    @property
    def values(self) -> Array:
        """(n_arms,) the arms' values by the mean rewards."""
        return smallest_of(self.question.points.dot(self.averages[:, None])[:, 0], self.offsets)

    def _reach_of_variance(self) -> float:
        """Return h² / zone²."""
        most = int(np.diff(self.offsets).max())
        beta = self.compared_at / (max(self.problem.n_arms - 1, 1) * most)
        return reach_of(beta, self._first) / self._zone**2

    @property
    def compared_at(self) -> float:
        """The probability of error that comparisons may spend."""
        return self.settings.delta


def reach_of(beta: float, first: int) -> float:
    """Return h² for sums that leave on the wrong side with probability β."""
    eta = ((2 * beta) ** (-2 / (first - 1)) - 1) / 2
    return float(2 * eta * (first - 1))


def _variances_of_differences(rewards: Array) -> Array:
    """Return (n_pairs, n_pairs) S²_ab, from (n, n_pairs) rewards of the first stage."""
    centred = rewards - rewards.mean(axis=0)
    products = centred.T @ centred / (len(rewards) - 1)
    own = np.diag(products)
    return np.asarray(np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0))


@kernel
def _settle(ahead: NDArray[np.bool_], pairs: IntArray, sums: Array, bounds: Array) -> None:
    """Note, for each two of these pairs, which is ahead once their sums are further apart than
    their bound; what was settled before stays as it is.
    """
    for i in range(len(pairs)):
        for j in range(i):
            a, b = pairs[i], pairs[j]
            if ahead[a, b] or ahead[b, a]:
                continue
            lead = sums[a] - sums[b]
            if lead > bounds[a, b]:
                ahead[a, b] = True
            elif -lead > bounds[a, b]:
                ahead[b, a] = True


@kernel
def _beaten_of(ahead: NDArray[np.bool_], arms: IntArray, offsets: IntArray) -> NDArray[np.bool_]:
    """Return (n,) whether some other of these arms is ahead."""
    beaten = np.zeros(len(arms), dtype=np.bool_)
    for i in range(len(arms)):
        for other in arms:
            if other != arms[i] and _is_ahead(ahead, other, arms[i], offsets):
                beaten[i] = True
                break
    return beaten


@kernel
def _is_ahead(ahead: NDArray[np.bool_], arm: int, other: int, offsets: IntArray) -> bool:
    """Return whether every pair of the arm is ahead of some pair of the other."""
    for a in range(offsets[arm], offsets[arm + 1]):
        if not ahead[a, offsets[other] : offsets[other + 1]].any():
            return False
    return True
