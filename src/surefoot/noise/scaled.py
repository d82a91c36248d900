"""Noise that is described by a scale alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise.base import EvidenceKind, Noise


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
    """The scale, one number or one per pair, if it can be one."""
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
