"""Rewards within known bounds, and nothing else known."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from surefoot.arrays import Array
from surefoot.certify import Boundary, Scores, SubGaussianScores, WealthScores
from surefoot.errors import InputError
from surefoot.noise.base import OWN, EvidenceKind, Noise, drawn_together
from surefoot.noise.boundaries import Weights, mixture_boundary
from surefoot.noise.sub_gaussian import SubGaussian
from surefoot.statistics import Outcome


class Bounded(Noise):
    """Rewards that lie between `low` and `high`; nothing else is assumed about them.

    Success rates are the main use: rewards of 0 and 1.
    """

    kind = "bounded"
    usage = "Bounded(low, high)"
    known = True
    mixes = True
    scales_are_deviations = False
    evidence: EvidenceKind = "wealth"

    def __init__(self, low: float, high: float) -> None:
        for name, value in (("low", low), ("high", high)):
            if not (isinstance(value, int | float | np.number) and math.isfinite(value)):
                raise InputError(
                    f"{name}={value!r:.80} must be a finite number: a bound of rewards"
                )
        if not low < high:
            raise InputError(f"low={low!r} must be below high={high!r}: all rewards lie between")
        self.low, self.high = float(low), float(high)

    def __repr__(self) -> str:
        return f"Bounded({self.low:g}, {self.high:g})"

    @property
    def assumption(self) -> str:
        return f"rewards between {self.low:g} and {self.high:g}, and nothing else"

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high

    def negated(self) -> Bounded:
        return Bounded(-self.high, -self.low)

    @property
    def span(self) -> tuple[float, float]:
        """Half the range: rewards in it are sub-Gaussian with that scale (Hoeffding)."""
        half = (self.high - self.low) / 2
        return half, half

    def scales(self, n_pairs: int) -> Array:
        return np.full(n_pairs, self.span[0])

    def variances(self, scatter: Array, freedom: Array) -> Array:
        width = self.high - self.low
        prior = np.append(scatter, width**2 / 6), np.append(freedom, 1.0)
        return np.clip(drawn_together(*prior, OWN)[:-1], (width / 50) ** 2, width**2 / 4)

    def refuse_impossible(self, outcome: Outcome) -> None:
        """Refuse a sum, or a scatter about the mean, too large for rewards within the range."""
        counts = np.maximum(outcome.counts, 1)
        slack = 1e-9 * max(abs(self.low), abs(self.high), self.high - self.low)
        means = outcome.sums / counts
        above, below = self.high + slack - means, means - self.low + slack
        outside = (outcome.counts > 0) & ((above < 0) | (below < 0))
        scattered = outcome.scatter > counts * (np.maximum(above * below, 0) + slack**2)
        if (outside | scattered).any():
            raise InputError(
                f"pair {int(np.argmax(outside | scattered))} has a reward outside of {self.low:g} "
                f"to {self.high:g}, where Bounded says that all lie: mend the simulator, or give "
                "the true range; nothing of this phase was taken"
            )

    def union_threshold(self, events: int, delta: float) -> float:
        return SubGaussian(self.span[0]).union_threshold(events, delta)

    def boundary(self, times: Weights, delta: float, shape: Weights) -> Boundary:
        return mixture_boundary(times, delta, shape)

    def scores(self, n_pairs: int, paired: bool) -> Scores:
        return (WealthScores if paired else SubGaussianScores)(self.scales(n_pairs))

    def scores_by_constant(self, n_pairs: int) -> Scores:
        return WealthScores(self.scales(n_pairs), self.high)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Bounded", "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(data["low"], data["high"])
