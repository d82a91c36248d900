"""What every run is asked for, whichever algorithm answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.errors import InputError
from surefoot.noise import Noise


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every run is asked for.

    Attributes:
        delta: the probability with which a certified answer may be wrong.
        noise: what is known about the noise.
        confidence: "valid" (what the proofs need) or "paper" (the paper's rules to the letter).
        tolerance: an arm this close to the best robust value is good enough.
        budget: no more pulls than this.
        on_misfit: "reject" withholds the certificate when the linear model is rejected; "ignore"
            does not.
    """

    delta: float
    noise: Noise
    confidence: Literal["valid", "paper"] = "valid"
    tolerance: float = 0.0
    budget: int | None = None
    on_misfit: Literal["reject", "ignore"] = "reject"

    def __post_init__(self) -> None:
        if not (isinstance(self.delta, int | float) and 0 < self.delta < 1):
            raise InputError(
                f"delta={self.delta!r} is not a probability between 0 and 1: 0.05 "
                f"means sure in 95 of 100 runs"
            )
        if not isinstance(self.noise, Noise):
            raise InputError(
                f"noise={self.noise!r} does not say what is known about the noise: "
                f"give surefoot.Gaussian(scale), "
                "surefoot.Gaussian() if the scale is unknown, or surefoot.SubGaussian(scale)"
            )
        if self.confidence not in ("valid", "paper"):
            raise InputError(
                f'confidence={self.confidence!r} is not known: choose "valid" or "paper"'
            )
        if not (_number(self.tolerance) and self.tolerance >= 0):
            raise InputError(
                f"tolerance={self.tolerance!r} must be a number ≥ 0, in the unit of the rewards"
            )
        if self.budget is not None and not (
            _number(self.budget) and self.budget == int(self.budget) >= 0
        ):
            raise InputError(f"budget={self.budget!r} must be a whole number of pulls ≥ 0, or None")
        if self.on_misfit not in ("reject", "ignore"):
            raise InputError(
                f'on_misfit={self.on_misfit!r} is not known: choose "reject" or "ignore"'
            )


def _number(value: object) -> bool:
    return isinstance(value, int | float | np.integer) and bool(np.isfinite(value))
