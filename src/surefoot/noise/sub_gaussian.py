"""Noise with tails no heavier than those of a Gaussian."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from surefoot.certify import Boundary
from surefoot.errors import InputError
from surefoot.noise.base import Scaled, positive
from surefoot.noise.boundaries import Weights, mixture_boundary


class SubGaussian(Scaled):
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
        super().__init__(positive(scale))

    @property
    def assumption(self) -> str:
        return f"sub-Gaussian noise {self._bound}"

    def union_threshold(self, events: int, delta: float) -> float:
        """Return the Chernoff bound √(2 log(events/δ))."""
        return math.sqrt(2 * math.log(events / delta))

    def boundary(self, times: Weights, delta: float, shape: Weights) -> Boundary:
        return mixture_boundary(times, delta, shape)
