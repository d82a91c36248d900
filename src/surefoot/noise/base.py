"""What every noise model knows of itself."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

from surefoot.arrays import Array
from surefoot.certify import Boundary, ScaleScores, Scores
from surefoot.errors import InputError
from surefoot.noise.boundaries import Weights
from surefoot.statistics import Outcome

EvidenceKind = Literal["scales", "residual", "batches", "wealth"]


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
        """True if a scale is given; else data say what it is."""

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
        """The assumption that a certificate relies on, as part of a sentence."""

    @abstractmethod
    def scales(self, n_pairs: int) -> Array:
        """(n_pairs,) the scale of each pair; ones where it is unknown (and then equal)."""

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
        """c such that any of this many one-sided deviations exceeds c with probability ≤ δ."""

    @abstractmethod
    def boundary(self, times: Weights, delta: float, shape: Weights) -> Boundary:
        """Return what evidence of this kind is held against; see `surefoot.noise.boundaries`."""

    def scores(self, n_pairs: int, paired: bool) -> Scores:
        """Return the kernel's rules for this noise; `paired`: there is no model."""
        return ScaleScores(self.scales(n_pairs))

    def scores_by_constant(self, n_pairs: int) -> Scores:
        """Return the kernel's rules where pairs are held against 0, without a model."""
        return self.scores(n_pairs, True)

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
