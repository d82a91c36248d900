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
        boundary: (n_points,) evidence that eliminates an arm, in square roots of its clock's time.
            It is lowest in the middle of the grid, where clocks should end.
    """

    times: Array
    boundary: Array

    @property
    def middle(self) -> int:
        """The point at which the least evidence is enough."""
        return int(self.boundary.argmin())


class Forecast(NamedTuple):
    """What a phase is expected to say about arms.

    Attributes:
        information: (n_tested,) how much.
        scores: (n_tested,) what the score of their hardest comparison may be, in standard errors.
    """

    information: Array
    scores: Array


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

    def steps(self, arms: IntArray, forecast: Forecast) -> Array:
        """(n_tested,) by how much their clocks would advance for that much information."""
        return np.asarray(self.grid.times[self._next(arms, forecast)] - self.times[arms])

    def advance(self, arms: IntArray, forecast: Forecast) -> Array:
        """Let the clocks of these arms go on, in proportion to the information.

        Returns:
            (n_tested,) by how much they did.
        """
        before = self.times[arms]
        self.place[arms] = self._next(arms, forecast)
        self._information[arms] += forecast.information
        return np.asarray(self.times[arms] - before)

    def _next(self, arms: IntArray, forecast: Forecast) -> IntArray:
        """(n_tested,) the point nearest to where a clock should be, one step further at least."""
        place, past = self.place[arms], self._information[arms]
        share = np.divide(forecast.information, past, out=np.ones_like(past), where=past > 0)
        wanted = np.log(np.maximum(self.times[arms], 1e-300)) + np.log1p(share)
        nearest = np.searchsorted(self._between, wanted)
        last = len(self.grid.times) - 1
        further = np.minimum(np.maximum(nearest, place + 1), last)
        return np.where(place < 0, self._first(forecast.scores), further)

    def _first(self, scores: Array) -> IntArray:
        """(n_tested,) where clocks begin: phases with such scores end them near the middle."""
        grid = self.grid
        phases = np.maximum((grid.boundary[grid.middle] / scores) ** 2, 1.0)
        return np.asarray(np.searchsorted(self._between, np.log(grid.times[grid.middle] / phases)))
