"""Gaussian noise, of a known or an unknown scale."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from surefoot.arrays import Array
from surefoot.certify import BatchScores, Boundary, EqualScores, ScaleScores, Scores
from surefoot.errors import InputError
from surefoot.noise.base import OWN, EvidenceKind, Scaled, drawn_together, positive
from surefoot.noise.boundaries import Weights, gaussian_boundary


class Gaussian(Scaled):
    """Gaussian noise: with a known scale; `Gaussian()`: unknown, and it may differ from pair to
    pair; `Gaussian(equal=True)`: unknown, but equal for all pairs.
    """

    kind = "gaussian"
    usage = "Gaussian(scale), Gaussian() if the scale is unknown"
    continuous = True

    def __init__(self, scale: ArrayLike | None = None, *, equal: bool = False) -> None:
        super().__init__(None if scale is None else positive(scale))
        if not isinstance(equal, bool | np.bool_):
            raise InputError(f"equal={equal!r:.80} must be true or false")
        if equal and scale is not None:
            raise InputError(
                "Gaussian has a scale and equal=True: give the scale if it is known, or equal=True "
                "if it is unknown and the same for all pairs"
            )
        object.__setattr__(self, "equal", bool(equal))

    equal: bool

    def __repr__(self) -> str:
        if self.known:
            return super().__repr__()
        return f"Gaussian({'equal=True' if self.equal else ''})"

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
        return (
            "differences of pulls, or of means of a few, that are nearly normal; nothing about "
            "noise levels"
        )

    def union_threshold(self, events: int, delta: float) -> float:
        """Return the exact quantile."""
        return max(0.0, -float(special.ndtri(delta / events)))

    def boundary(self, times: Weights, delta: float, shape: Weights) -> Boundary:
        return gaussian_boundary(times, delta, shape)

    def scores(self, n_pairs: int, paired: bool) -> Scores:
        scales = self.scales(n_pairs)
        if self.known:
            return ScaleScores(scales)
        return EqualScores(scales) if self.equal else BatchScores(scales)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.known else {"equal": self.equal})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(data.get("scale"), equal=bool(data.get("equal", False)))
