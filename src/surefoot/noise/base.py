"""The contract of a noise model."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.certify import Boundary, Scores, SubGaussianScores
from surefoot.errors import InputError
from surefoot.noise.boundaries import Weights
from surefoot.statistics import Outcome

EvidenceKind = Literal["scales", "residual", "batches", "wealth"]


class Noise(ABC):
    """Noise of independent pulls with mean zero.

    Attributes:
        kind: its name in a configuration. Study files hold the name of the class.
        usage: how it is written in Python, for messages.
        continuous: whether two rewards are never equal by chance, as whole numbers may be.
    """

    kind: ClassVar[str]
    usage: ClassVar[str]
    continuous: ClassVar[bool] = False

    @property
    @abstractmethod
    def known(self) -> bool:
        """True if a scale is given; else it is estimated."""

    @property
    @abstractmethod
    def scales_are_deviations(self) -> bool:
        """True if the scales bound standard deviations of *normal* noise, so that a sum of squares
        can be tested against them (χ²).
        """

    @property
    @abstractmethod
    def evidence(self) -> EvidenceKind:
        """The yardstick of a difference of means: known scales, the phase's own residual, batches
        of each pair, or a gambler's wealth.
        """

    @abstractmethod
    def variances(self, scatter: Array, freedom: Array) -> Array:
        """Return (n_pairs,) variances of single pulls by the data: for choices, not for
        guarantees."""

    def refuse_impossible(self, outcome: Outcome) -> None:  # noqa: B027
        """Raise an error if no rewards of this kind can have given this outcome."""

    @property
    def limits(self) -> tuple[float, float] | None:
        """The smallest and the largest possible reward; None if all numbers are possible."""
        return None

    def negated(self) -> Noise:
        """Return the noise of rewards of the other sign."""
        return self

    @property
    @abstractmethod
    def assumption(self) -> str:
        """The assumption that a certificate relies on, as part of a sentence."""

    @abstractmethod
    def scales(self, n_pairs: int) -> Array:
        """Return (n_pairs,) the scale of each pair; ones where it is unknown (and then equal)."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest scale; None if they are unknown."""

    @property
    def allows_sharing(self) -> bool:
        """True if pulls of different pairs may share random streams."""
        return self.evidence in ("batches", "wealth")

    @property
    def mixes(self) -> bool:
        """True if the boundary is that of a mixture martingale, not of a Gaussian walk."""
        return False

    @abstractmethod
    def union_threshold(self, events: int, delta: float) -> float:
        """Return c such that any of this many one-sided deviations exceeds c with probability ≤
        δ."""

    @abstractmethod
    def boundary(self, times: Weights, delta: float, shape: Weights) -> Boundary:
        """Return the boundary for evidence of this kind; see `surefoot.noise.boundaries`."""

    def scores(self, n_pairs: int, paired: bool) -> Scores:
        """Return the kernel's rules for this noise; `paired`: there is no model."""
        return SubGaussianScores(self.scales(n_pairs))

    def scores_by_constant(self, n_pairs: int) -> Scores:
        """Return the kernel's rules where pairs are held against 0, without a model."""
        return self.scores(n_pairs, True)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the noise as plain values, as stored in study files."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild the noise from `to_dict`, of this or an earlier version."""

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Self:
        """Build it from a configuration's entries; the model reports missing ones."""
        allowed = inspect.signature(cls).parameters
        if unknown := [name for name in options if name not in allowed]:
            raise InputError(
                f"{cls.kind} noise has no {unknown[0]}: it takes {' and '.join(allowed)}"
            )
        needed = [name for name in allowed if allowed[name].default is inspect.Parameter.empty]
        return cls(**(dict.fromkeys(needed) | options))


OWN = 8.0  # degrees of freedom that the pooled variance is worth against a pair's own
LEAST = 2.0  # its worth at least, however much they differ


def drawn_together(scatter: Array, freedom: Array, own: float) -> Array:
    """Return (n_pairs,) variances of single pulls, each pair's own drawn towards the pooled one.

    Args:
        scatter: (n_pairs,) squared deviations from the pairs' means.
        freedom: (n_pairs,) their degrees of freedom.
        own: how many degrees of freedom the pooled variance is worth; ∞: it is the only one.
    """
    pooled = float(scatter.sum()) / max(float(freedom.sum()), 1.0)
    if own == np.inf:
        return np.full(len(scatter), max(pooled, 1e-300))
    return np.asarray(np.maximum((scatter + own * pooled) / (freedom + own), 1e-300))


def worth_of_pooled(scatter: Array, freedom: Array, most: float) -> float:
    """Return the degrees of freedom that the pooled variance is worth, as alike as the pairs' own
    seem.

    If variances differ with a squared coefficient of variation τ², one is known from the others as
    well as by 2 / τ² degrees of freedom of its own. τ² is the variation of the pairs' own variances
    beyond chance, which is 2 over their degrees of freedom.
    """
    seen, total = freedom > 0, float(freedom.sum())
    pooled = float(scatter.sum()) / max(total, 1.0)
    if pooled <= 0.0:
        return OWN
    relative = scatter[seen] / (freedom[seen] * pooled)
    beyond = float((freedom[seen] * (relative - 1) ** 2 - 2).sum()) / total
    return min(max(2 / beyond, LEAST), most) if beyond > 2 / most else most


@dataclass(frozen=True, eq=False)
class Scaled(Noise):
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


def positive(scale: ArrayLike) -> ArrayLike:
    """Return the scale, one number or one per pair, if it can be one."""
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
