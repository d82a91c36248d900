"""Each arm's own clock: how much its evidence may have varied by chance, and what level it needs.

A score that is standard normal given the past may be counted with any weight chosen before it: the
sum is then a Brownian motion read at the clock's time. Here clocks stop on a grid that is fixed
beforehand, and the boundary is solved for looks at every point of it. To jump over points is to
look less often, and a phase that says nothing about an arm leaves its clock alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray


class Grid(NamedTuple):
    """Where clocks may stop.

    Attributes:
        times: (n_points,) increasing; the first is 1.
        boundary: evidence that eliminates an arm, in square roots of its clock's time.
    """

    times: Array
    boundary: float


class Clocks:
    """One clock per arm, all on one grid."""

    def __init__(self, grid: Grid, n_arms: int) -> None:
        self.grid = grid
        self.place = np.full(n_arms, -1)
        self._information = np.zeros(n_arms)
        logs = np.log(grid.times)
        self._between = (logs[1:] + logs[:-1]) / 2  # half-way from point to point

    @property
    def times(self) -> Array:
        """(n_arms,) what each clock shows; 0 before an arm's first test."""
        return np.where(self.place >= 0, self.grid.times[self.place], 0.0)

    @property
    def run_down(self) -> NDArray[np.bool_]:
        """(n_arms,) whether a clock has reached the end of the grid."""
        return np.asarray(self.place == len(self.grid.times) - 1)

    def steps(self, arms: IntArray, information: Array) -> Array:
        """(n_tested,) by how much their clocks would advance for that much information."""
        return np.asarray(self.grid.times[self._next(arms, information)] - self.times[arms])

    def advance(self, arms: IntArray, information: Array) -> None:
        """Let the clocks of these arms go on, in proportion to the information."""
        self.place[arms] = self._next(arms, information)
        self._information[arms] += information

    def _next(self, arms: IntArray, information: Array) -> IntArray:
        """(n_tested,) the point nearest to where a clock should be, one step further at least."""
        place, past = self.place[arms], self._information[arms]
        share = np.divide(information, past, out=np.ones_like(past), where=past > 0)
        wanted = np.log(np.maximum(self.times[arms], 1e-300)) + np.log1p(share)
        nearest = np.searchsorted(self._between, wanted)
        last = len(self.grid.times) - 1
        return np.where(place < 0, 0, np.minimum(np.maximum(nearest, place + 1), last))
