"""How sure one is so far: the smallest δ at which an arm would be out by now.

Boundaries of one shape are nested in δ, and the law of a walk given the past depends on no choice.
So that smallest δ is a p-value at all looks at once: for each α, an arm that is best ever has p ≤ α
with probability at most α.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.boundaries import Weights, crossing_probability

# Above δ = 0.2, steps smaller than planned can cross a little more often than planned ones.
MARGIN, LARGE = 1.005, 0.2


class Attained(ABC):
    """Follows the evidence against every arm through the looks of one epoch.

    Args:
        share: of δ, that the epoch may spend.
    """

    def __init__(self, n_arms: int, share: float) -> None:
        self._share = share
        self._plain = np.full(n_arms, -np.inf)
        self._eased: dict[int, Array] = {}

    def look(self, number: int | IntArray, evidence: Array, eased_for: int | None) -> None:
        """Take (n_arms,) W / √V, or W itself where no clock runs, at one look.

        Args:
            number: of the planned looks, which this one is; one for each arm if clocks differ.
            evidence: what is held against the boundary.
            eased_for: the leader in whose favour a tolerance was counted, if any.
        """
        strength = self.strength(number, evidence)
        if eased_for is None:
            self._plain = np.maximum(self._plain, strength)
        else:
            before = self._eased.get(eased_for, self._plain)
            self._eased[eased_for] = np.maximum(before, strength)

    def largest_p(self, leader: int, arms: IntArray) -> Callable[[], float]:
        """What works out the largest p-value of these arms against a leader, as it is now.

        A p-value can take longer than the rest of a phase, so that only who asks for it pays.
        """
        strengths = np.maximum(self._plain, self._eased.get(leader, self._plain))[arms]
        weakest = float(strengths.min())
        return lambda: min(1.0, self.p_value(weakest) / self._share)

    @abstractmethod
    def strength(self, look: int | IntArray, evidence: Array) -> Array:
        """(n_arms,) what decides at that look, the larger the stronger."""

    @abstractmethod
    def p_value(self, strength: float) -> float:
        """The smallest δ at which that strength would have been enough."""


class GaussianAttained(Attained):
    """For boundaries c_t² = a + strictness_t: the level a that the evidence has reached.

    Args:
        most: the largest p-value that was checked; what is larger counts as 1.
    """

    def __init__(
        self, n_arms: int, share: float, weights: Weights, strictness: Weights, most: float = 1.0
    ) -> None:
        super().__init__(n_arms, share)
        self._most = most
        self._weights, self._shape = weights, np.array(strictness or (0.0,) * len(weights))

    def strength(self, look: int | IntArray, evidence: Array) -> Array:
        return np.where(evidence > 0, evidence**2 - self._shape[look], -np.inf)

    def p_value(self, strength: float) -> float:
        if strength + self._shape.min() <= 0:
            return 1.0
        boundary = np.sqrt(np.maximum(strength + self._shape, 1e-12))
        p = crossing_probability(self._weights, boundary)
        if p > self._most:
            return 1.0
        return min(1.0, MARGIN * p if p > LARGE else p)


class MixtureAttained(Attained):
    """For the run's own mixture martingale: one over the largest value that it had."""

    def __init__(
        self, n_arms: int, share: float, weights: Weights, mixed: tuple[Array, Array]
    ) -> None:
        super().__init__(n_arms, share)
        self._rates, self._mixture = mixed
        self._variances = np.cumsum(weights)

    def strength(self, look: int | IntArray, evidence: Array) -> Array:
        variance = self._variances[look]
        drift = np.outer(evidence * np.sqrt(variance), self._rates)
        exponents = drift - np.multiply.outer(variance, self._rates**2) / 2
        return np.asarray(special.logsumexp(exponents, b=self._mixture, axis=1))

    def p_value(self, strength: float) -> float:
        return min(1.0, math.exp(-strength))


class WealthAttained(Attained):
    """For a gambler's wealth: one over the largest that it was."""

    def strength(self, look: int | IntArray, evidence: Array) -> Array:
        return evidence

    def p_value(self, strength: float) -> float:
        return min(1.0, math.exp(-strength))
