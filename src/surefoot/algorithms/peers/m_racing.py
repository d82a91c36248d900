"""M-Racing: max-min by elimination, in the manner of Garivier, Kaufmann and Koolen (2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from surefoot.algorithms.peers.base import Peer
from surefoot.algorithms.peers.bernoulli import (
    EXPONENT,
    ZETA,
    Threshold,
    heuristic_level,
    kl,
    threshold,
)
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.noise import Bounded
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class MRacing(Peer):
    """Pull every pair that is left, round by round; drop pairs that are not their arm's worst, and
    arms that are not the best.

    Two means p and q after r rounds tell their pairs apart when r f(p, q) reaches the threshold,
    with f(p, q) = kl(p, m) + kl(q, m) and m their midpoint. A pair is dropped when it is above its
    arm's smallest mean by as much, an arm when its smallest mean is below the largest of these.

    With threshold="proved", the answer is certified for rewards of any law in an interval.
    "heuristic" is log((log t + 1) / δ), without a proof; then it is not.

    Attributes:
        threshold: "proved" or "heuristic".
        growth: a round takes this share of the pulls of a pair so far, and one at least; 0 as
            published.
    """

    threshold: Threshold = "proved"
    growth: float = 0.0
    name: ClassVar[str] = "m-racing"
    noises: ClassVar[tuple[str, ...]] = ("bounded",)

    def begin(self) -> None:
        threshold(self.threshold)
        self.racing = np.ones(self.problem.n_pairs, dtype=bool)
        self.rounds = 0
        self.looks = 0

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            certified = self.threshold == "proved"
            return StopReason.IDENTIFIED if certified else StopReason.HEURISTIC
        pulls = max(int(self.growth * self.rounds), 1)
        return np.where(self.racing, pulls, 0).astype(np.int64)

    def learn(self, outcome: Outcome) -> None:
        noise = self.settings.noise
        assert isinstance(noise, Bounded)
        means = (self.averages - noise.low) / (noise.high - noise.low)
        self.rounds, self.looks = self.rounds + int(outcome.counts.max()), self.looks + 1
        needed = self._level() / self.rounds
        arm = self.problem.arm_of_pair
        worst = self.problem.worst_of(np.where(self.racing, means, 1.0))
        self.racing &= _apart(worst[arm], means) < needed
        alive = np.where(self.survivors, worst, -np.inf)
        self.leader = int(np.argmax(alive))
        self.survivors &= _apart(worst, np.full_like(worst, worst[self.leader])) < needed
        self.racing &= self.survivors[arm]

    def _level(self) -> float:
        """Return the level that r f must reach.

        For a pair of coins in the other order than their means, r f exceeds b with probability at
        most (1 + b) exp(−b): two one-sided Chernoff bounds together.
        """
        delta = self.settings.delta
        if self.threshold == "heuristic":
            return heuristic_level(self.samples, delta)
        sizes = np.diff(self.problem.offsets)
        mistakes = float((sizes - 1).sum() + (len(sizes) - 1) * sizes.max())
        spent = delta / (mistakes * self.looks**EXPONENT * ZETA)
        return float(special.gammainccinv(2.0, spent))


def _apart(low: Array, high: Array) -> Array:
    """Return how clearly the second mean is above the first: f of the two, and 0 if it is not."""
    middle = (low + high) / 2
    return np.asarray(np.where(high > low, kl(low, middle) + kl(high, middle), 0.0))
