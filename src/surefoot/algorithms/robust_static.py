"""Robust Static: the paper's G-allocation (`eq:G-all`), stopped by `eq:11`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms.static_allocation import StaticAllocation
from surefoot.arrays import Array
from surefoot.design.designs import g_weights, noise_key, remembered
from surefoot.design.frank_wolfe import Solver, g_by_frank_wolfe, require_solver


@dataclass(eq=False)
class RobustStatic(StaticAllocation):
    """Pull all pairs by λ^G until one arm is above all others, each at its worst.

    Attributes:
        growth: γ, by which the pulls grow from look to look; 1.3 as in the paper.
        keep: judge by all pulls so far; False: by those of the phase alone.
        solver: of λ^G: "certified", or "frank-wolfe" as in the paper.
    """

    growth: float = 1.3
    keep: bool = True
    solver: Solver = "certified"
    name: ClassVar[str] = "robust-static"

    def allocation(self) -> Array:
        if self.solver == "certified":
            return g_weights(self.problem, self.tally.scales)
        key = ("g by frank-wolfe", noise_key(self.tally.scales))
        return remembered(self.problem, key, lambda: g_by_frank_wolfe(self.tally.rows)).weights

    def begin(self) -> None:
        require_solver(self.solver)
        super().begin()
