"""M-LUCB: max-min by confidence bounds, in the manner of Garivier, Kaufmann and Koolen (2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.peers.base import Peer
from surefoot.algorithms.peers.bernoulli import (
    Threshold,
    heuristic_level,
    hoeffding_bounds,
    proved_levels,
    threshold,
)
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.noise import Bounded
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class MLucb(Peer):
    """Pull, turn by turn, the pair of the leading arm and the pair of another that might refute it.

    An arm is represented by its pair of smallest lower bound. The leader is the arm whose smallest
    mean is largest, the challenger the other arm whose representative has the largest upper bound.
    It stops when the leader's lower bound is above the challenger's upper bound, less the
    tolerance.

    With threshold="proved" the bounds hold for rewards of any law in an interval, and the answer is
    certified; this threshold is ours. "heuristic" is the exploration rate of the literature's
    experiments, log((log t + 1) / δ), without a proof; then it is not.

    Attributes:
        threshold: "proved" or "heuristic".
        growth: a turn takes this share of the pulls so far of the pair that has fewer, and one at
            least; 0 as published.
    """

    threshold: Threshold = "proved"
    growth: float = 0.0
    name: ClassVar[str] = "m-lucb"
    noises: ClassVar[tuple[str, ...]] = ("bounded",)
    supports: ClassVar[frozenset[str]] = Peer.supports | {"tolerance"}

    def begin(self) -> None:
        threshold(self.threshold)
        n_pairs = self.problem.n_pairs
        self.levels = np.full(n_pairs, np.inf)
        self.lower, self.upper = np.zeros(n_pairs), np.ones(n_pairs)
        self.duel: tuple[int, int] | None = None

    def bounds(self, means: Array, levels: Array) -> tuple[Array, Array]:
        """Lower and upper bounds of means of rewards in [0, 1]."""
        return hoeffding_bounds(means, levels)

    def next_counts(self) -> Counts | StopReason:
        if self.duel is None:
            return np.ones(self.problem.n_pairs, dtype=np.int64)
        if self._over:
            return self._reason()
        counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        duel = list(self.duel)
        counts[duel] = max(int(self.growth * self.tally.counts[duel].min()), 1)
        return counts

    def learn(self, outcome: Outcome) -> None:
        noise = self.settings.noise
        assert isinstance(noise, Bounded)
        self._width = noise.high - noise.low
        self._bound((self.averages - noise.low) / self._width)
        self.lead()
        representatives = self.problem.worst_pairs_of(self.lower)
        rivals = self.upper[representatives]
        rivals[self.leader] = -np.inf
        self.duel = int(representatives[self.leader]), int(representatives[np.argmax(rivals)])
        self.survivors = rivals >= self.lower[self.duel[0]]
        self.survivors[self.leader] = True

    def _bound(self, means: Array) -> None:
        """Solve the bounds anew where anything about them has changed."""
        counts, delta = self.tally.counts, self.settings.delta
        if self.threshold == "proved":
            levels = proved_levels(counts, delta) / counts
        else:
            levels = heuristic_level(self.samples, delta) / counts
        new = levels != self.levels
        self.lower[new], self.upper[new] = self.bounds(means[new], levels[new])
        self.levels = levels

    @property
    def _over(self) -> bool:
        assert self.duel is not None
        leader, challenger = self.duel
        slack = self.settings.tolerance / self._width
        return bool(self.lower[leader] > self.upper[challenger] - slack)

    def _reason(self) -> StopReason:
        if self.threshold == "heuristic":
            return StopReason.HEURISTIC
        alone = self.survivors.sum() == 1
        return StopReason.IDENTIFIED if alone else StopReason.WITHIN_TOLERANCE
