"""Robust Static: the paper's G-allocation (`eq:G-all`), stopped by `eq:11`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms.static_allocation import StaticAllocation
from surefoot.arrays import Array
from surefoot.design.for_problems import g_weights


@dataclass(eq=False)
class RobustStatic(StaticAllocation):
    """Pull all pairs by λ^G until one arm is above all others, each at its worst.

    Attributes:
        growth: γ, by which the pulls grow from look to look; 1.3 as in the paper.
    """

    growth: float = 1.3
    name: ClassVar[str] = "robust-static"

    def allocation(self) -> Array:
        return g_weights(self.problem, self.tally.scales)
