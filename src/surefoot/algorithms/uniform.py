"""Uniform: every pair equally often, stopped like Robust Static. The baseline without a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.static_allocation import StaticAllocation
from surefoot.arrays import Array


@dataclass(eq=False)
class Uniform(StaticAllocation):
    """Pull all pairs equally often until one arm's worst case is above all others.

    Attributes:
        growth: by which the pulls grow from look to look.
        keep: judge by all pulls so far, not by those of the last look alone.
    """

    growth: float = 1.3
    keep: bool = True
    name: ClassVar[str] = "uniform"

    def allocation(self) -> Array:
        return np.full(self.problem.n_pairs, 1 / self.problem.n_pairs)
