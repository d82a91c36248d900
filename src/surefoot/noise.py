"""What is known about the noise. The user must choose: there is no default.

Each model knows itself: its tail, the boundary that its walks need, which tests its data allow, how
a file holds it and what it assumes. A new one is a class here and its name in `NOISE_MODELS`.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from surefoot.arrays import Array
from surefoot.boundaries import Weights, gaussian_boundary, mixture_boundary
from surefoot.errors import InputError
from surefoot.statistics import Outcome

EvidenceKind = Literal["scales", "residual", "batches", "wealth"]
OWN = 8.0  # degrees of freedom that the pooled variance is worth against a pair's own


class Noise(ABC):
    """Noise of independent pulls with mean zero.

    Attributes:
        kind: what a configuration calls it. Study files hold the name of the class.
        usage: how it is written in Python, for messages.
        continuous: whether two rewards are never equal by chance, as whole numbers may be.
    """

    kind: ClassVar[str]
    usage: ClassVar[str]
    continuous: ClassVar[bool] = False

    @property
    @abstractmethod
    def known(self) -> bool:
        """Whether a scale is given; else data say what it is."""

    @property
    @abstractmethod
    def scales_are_deviations(self) -> bool:
        """Whether the scales bound standard deviations of *normal* noise, so that a sum of squares
        can be tested against them (χ²).
        """

    @property
    @abstractmethod
    def evidence(self) -> EvidenceKind:
        """What a difference of means is held against: known scales, the phase's own residual,
        batches of each pair, or a gambler's wealth.
        """

    @abstractmethod
    def variances(self, scatter: Array, freedom: Array) -> Array:
        """(n_pairs,) variances of single pulls by the data: for choices, not for guarantees."""

    def refuse_impossible(self, outcome: Outcome) -> None:  # noqa: B027
        """Raise an error if no rewards of this kind can have given this outcome."""

    @property
    def limits(self) -> tuple[float, float] | None:
        """The smallest and the largest reward that there can be; None if any is possible."""
        return None

    def negated(self) -> Noise:
        """The same for rewards of the other sign."""
        return self

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What a certificate relies on, as part of a sentence."""

    @abstractmethod
    def scales(self, n_pairs: int) -> Array:
        """(n_pairs,) the scale of each pair; ones where it is unknown (and then equal)."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest scale; None if they are unknown."""

    @property
    def allows_sharing(self) -> bool:
        """Whether pulls of different pairs may share random streams."""
        return self.evidence in ("batches", "wealth")

    @property
    def mixes(self) -> bool:
        """Whether the boundary is that of a mixture martingale, not of a Gaussian walk."""
        return False

    @abstractmethod
    def union_threshold(self, events: int, delta: float) -> float:
        """c such that any of this many one-sided deviations exceeds c with probability ≤ δ."""

    @abstractmethod
    def boundary(self, weights: Weights, delta: float, strictness: Weights) -> Array:
        """(n_looks,) c_t: a walk of these variances ever reaches c_t √V_t with probability ≤ δ."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The noise as plain values: what study files hold."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild what `to_dict` described, in this or in an earlier version."""

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Self:
        """Build it from what a configuration says; the model itself says what it misses."""
        allowed = inspect.signature(cls).parameters
        if unknown := [name for name in options if name not in allowed]:
            raise InputError(
                f"{cls.kind} noise has no {unknown[0]}: it takes {' and '.join(allowed)}"
            )
        needed = [name for name in allowed if allowed[name].default is inspect.Parameter.empty]
        return cls(**(dict.fromkeys(needed) | options))


@dataclass(frozen=True, eq=False)
class _Scaled(Noise):
    """Noise that is described by a scale alone: one number, one per pair, or None if unknown."""

    scale: ArrayLike | None

    @property
    def evidence(self) -> EvidenceKind:
        return "scales"

    def variances(self, scatter: Array, freedom: Array) -> Array:
        return np.asarray(self.scales(len(scatter)) ** 2)

    @property
    def known(self) -> bool:
        return self.scale is not None

    def scales(self, n_pairs: int) -> Array:
        given = np.asarray(1.0 if self.scale is None else self.scale, dtype=np.float64)
        if given.ndim and given.shape != (n_pairs,):
            raise InputError(
                f"the noise has {given.size} scales, but the problem has {n_pairs} pairs: "
                "give one number, or one for each pair"
            )
        return np.full(n_pairs, given) if given.ndim == 0 else given

    @property
    def span(self) -> tuple[float, float] | None:
        if self.scale is None:
            return None
        given = np.asarray(self.scale)
        return float(given.min()), float(given.max())

    def to_dict(self) -> dict[str, Any]:
        scale = None if self.scale is None else np.asarray(self.scale, dtype=np.float64).tolist()
        return {"kind": type(self).__name__, "scale": scale}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(data.get("scale"))

    @property
    def _bound(self) -> str:
        """The scale in words."""
        if self.span is None:
            return "of an unknown scale, the same for all pairs"
        lowest, highest = self.span
        if lowest == highest:
            return f"of scale at most {highest:.4g}"
        return f"of scales at most {lowest:.4g} to {highest:.4g}"


class Gaussian(_Scaled):
    """Gaussian noise: with a known scale; `Gaussian()`: unknown, and it may differ from pair to
    pair; `Gaussian(equal=True)`: unknown, but the same for all pairs.
    """

    kind = "gaussian"
    usage = "Gaussian(scale), Gaussian() if the scale is unknown"
    continuous = True

    def __init__(self, scale: ArrayLike | None = None, *, equal: bool = False) -> None:
        super().__init__(None if scale is None else _positive(scale))
        if not isinstance(equal, bool | np.bool_):
            raise InputError(f"equal={equal!r:.80} must be true or false")
        if equal and scale is not None:
            raise InputError(
                "Gaussian has a scale and equal=True: give the scale if it is known, or equal=True "
                "if it is unknown and the same for all pairs"
            )
        object.__setattr__(self, "equal", bool(equal))

    equal: bool

    @property
    def scales_are_deviations(self) -> bool:
        return self.known

    @property
    def evidence(self) -> EvidenceKind:
        if self.known:
            return "scales"
        return "residual" if self.equal else "batches"

    def variances(self, scatter: Array, freedom: Array) -> Array:
        if self.known:
            return super().variances(scatter, freedom)
        return drawn_together(scatter, freedom, np.inf if self.equal else OWN)

    @property
    def assumption(self) -> str:
        if self.known or self.equal:
            return f"Gaussian noise {self._bound}"
        return "differences of batch means that are nearly normal; nothing about noise levels"

    def union_threshold(self, events: int, delta: float) -> float:
        """The exact quantile."""
        return max(0.0, -float(special.ndtri(delta / events)))

    def boundary(self, weights: Weights, delta: float, strictness: Weights) -> Array:
        return gaussian_boundary(weights, delta, strictness)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.known else {"equal": self.equal})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild it; in files of version 0.1 no scale meant equal variances."""
        if data.get("scale") is None:
            return cls(equal=bool(data.get("equal", True)))
        return cls(data["scale"])


class SubGaussian(_Scaled):
    """Noise whose exponential moments are at most those of a Gaussian of this scale.

    Rewards in an interval of length w are sub-Gaussian with scale w / 2.
    """

    kind = "sub-gaussian"
    usage = "SubGaussian(scale)"
    scales_are_deviations = False
    mixes = True

    def __init__(self, scale: ArrayLike) -> None:
        if scale is None:
            raise InputError(
                "SubGaussian needs a scale (w / 2 for rewards within an interval of length w); "
                "an unknown scale is for Gaussian()"
            )
        super().__init__(_positive(scale))

    @property
    def assumption(self) -> str:
        return f"sub-Gaussian noise {self._bound}"

    def union_threshold(self, events: int, delta: float) -> float:
        """The Chernoff bound √(2 log(events/δ))."""
        return math.sqrt(2 * math.log(events / delta))

    def boundary(self, weights: Weights, delta: float, strictness: Weights) -> Array:
        return mixture_boundary(weights, delta, strictness)


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
        """A sum, or a scatter about the mean, can only be so large if all rewards are within."""
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

    def boundary(self, weights: Weights, delta: float, strictness: Weights) -> Array:
        return mixture_boundary(weights, delta, strictness)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Bounded", "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(data["low"], data["high"])


NOISE_MODELS: dict[str, type[Noise]] = {
    model.kind: model for model in (Gaussian, SubGaussian, Bounded)
}
USAGE = ", or ".join(model.usage for model in NOISE_MODELS.values())


def noise_from_dict(data: dict[str, Any]) -> Noise:
    """Rebuild what `Noise.to_dict` described."""
    for model in NOISE_MODELS.values():
        if data.get("kind") == model.__name__:
            return model.from_dict(data)
    kinds = " or ".join(model.__name__ for model in NOISE_MODELS.values())
    raise InputError(f"noise {data!r:.80} is not known: its kind is {kinds}")


def drawn_together(scatter: Array, freedom: Array, own: float) -> Array:
    """(n_pairs,) variances of single pulls, each pair's own drawn towards the pooled one.

    Args:
        scatter: (n_pairs,) squared deviations from the pairs' means.
        freedom: (n_pairs,) their degrees of freedom.
        own: how many degrees of freedom the pooled variance is worth; ∞: it is the only one.
    """
    pooled = float(scatter.sum()) / max(float(freedom.sum()), 1.0)
    if own == np.inf:
        return np.full(len(scatter), max(pooled, 1e-300))
    return np.asarray(np.maximum((scatter + own * pooled) / (freedom + own), 1e-300))


def _positive(scale: ArrayLike) -> ArrayLike:
    try:
        numbers = np.asarray(scale)
    except ValueError:  # rows of different lengths
        numbers = np.empty(0)
    if numbers.dtype.kind not in "iuf":  # text and truth values are no numbers
        numbers = np.empty(0)
    array = np.array(numbers, dtype=np.float64)  # a copy: the caller may change theirs
    if array.ndim > 1 or array.size == 0 or not (np.isfinite(array).all() and (array > 0).all()):
        raise InputError(
            f"a noise scale must be one positive number, or one for each pair, not {scale!r:.80}"
        )
    return float(array) if array.ndim == 0 else array
