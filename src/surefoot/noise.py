"""What is known about the noise. A scale is an upper bound; the user must choose, there is no
default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise of independent pulls with mean zero.

    Attributes:
        scale: standard deviation (Gaussian) or sub-Gaussian constant: one number, one per pair, or
            None if unknown.
    """

    scale: ArrayLike | None

    @property
    def known(self) -> bool:
        return self.scale is not None

    def scales(self, n_pairs: int) -> Array:
        """(n_pairs,) the scale of each pair; ones where it is unknown (and then equal)."""
        given = np.asarray(1.0 if self.scale is None else self.scale, dtype=np.float64)
        if given.ndim and given.shape != (n_pairs,):
            raise InputError(
                f"the noise has {given.size} scales, but the problem has {n_pairs} pairs: "
                "give one number, or one for each pair"
            )
        return np.full(n_pairs, given) if given.ndim == 0 else given

    def to_dict(self) -> dict[str, Any]:
        """The noise as plain values: what study files hold."""
        scale = None if self.scale is None else np.asarray(self.scale, dtype=np.float64).tolist()
        return {"kind": type(self).__name__, "scale": scale}


class Gaussian(Noise):
    """Gaussian noise with a known scale, or `Gaussian()`: unknown, but the same for all pairs."""

    def __init__(self, scale: ArrayLike | None = None) -> None:
        super().__init__(None if scale is None else _positive(scale))


class SubGaussian(Noise):
    """Noise whose exponential moments are at most those of a Gaussian of this scale.

    Rewards in an interval of length w are sub-Gaussian with scale w / 2.
    """

    def __init__(self, scale: ArrayLike) -> None:
        if scale is None:
            raise InputError(
                "SubGaussian needs a scale (w / 2 for rewards within an interval of length w); "
                "an unknown scale is for Gaussian()"
            )
        super().__init__(_positive(scale))


def noise_from_dict(data: dict[str, Any]) -> Noise:
    """Rebuild what `Noise.to_dict` described."""
    kind, scale = data.get("kind"), data.get("scale")
    if kind == "Gaussian":
        return Gaussian(scale)
    if kind == "SubGaussian" and scale is not None:
        return SubGaussian(scale)
    raise InputError(
        f"noise {data!r} is not known: its kind is Gaussian or SubGaussian, the latter with a scale"
    )


def _positive(scale: ArrayLike) -> ArrayLike:
    try:
        array = np.array(scale, dtype=np.float64)  # a copy: the caller may change theirs
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim > 1 or array.size == 0 or not (np.isfinite(array).all() and (array > 0).all()):
        raise InputError(
            f"a noise scale must be one positive number, or one for each pair, not {scale!r:.80}"
        )
    return float(array) if array.ndim == 0 else array
