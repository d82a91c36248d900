"""Each arm's own clock: where it should go on to, by what a phase is expected to say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary


class Forecast(NamedTuple):
    """What a phase is expected to say about arms.

    Attributes:
        information: (n_tested,) how much.
        scores: (n_tested,) what the score of their hardest comparison may be, in standard errors.
    """

    information: Array
    scores: Array


class Clocks:
    """Chooses points of one grid, in proportion to the information that was expected so far."""

    def __init__(self, boundary: Boundary, n_arms: int) -> None:
        self.times, self.heights = boundary.times, boundary.level / np.sqrt(boundary.times)
        self._information = np.zeros(n_arms)
        logs = np.log(self.times)
        self._between = (logs[1:] + logs[:-1]) / 2  # half-way from point to point

    def count(self, arms: IntArray, forecast: Forecast) -> None:
        """Remember what a phase that is to be pulled was expected to say."""
        self._information[arms] += forecast.information

    def now(self, places: IntArray) -> Array:
        """Return what clocks show; 0 before an arm's first test."""
        return np.where(places >= 0, self.times[places], 0.0)

    def next(self, arms: IntArray, places: IntArray, forecast: Forecast) -> IntArray:
        """(n_tested,) the point nearest to where a clock should be, one step further at least."""
        past = self._information[arms]
        share = np.divide(forecast.information, past, out=np.ones_like(past), where=past > 0)
        wanted = np.log(np.maximum(self.now(places), 1e-300)) + np.log1p(share)
        nearest = np.searchsorted(self._between, wanted)
        further = np.minimum(np.maximum(nearest, places + 1), len(self.times) - 1)
        return np.where(places < 0, self._first(forecast.scores), further)

    def level(self, then: Array) -> Array:
        """Return the walk that eliminates an arm at any times, between points as well."""
        height = np.interp(np.log(then), np.log(self.times), self.heights)
        return np.asarray(height * np.sqrt(then))

    def _first(self, scores: Array) -> IntArray:
        """(n_tested,) where clocks begin: phases with such scores end them near the middle."""
        middle = int(self.heights.argmin())
        phases = np.maximum((self.heights[middle] / scores) ** 2, 1.0)
        return np.asarray(np.searchsorted(self._between, np.log(self.times[middle] / phases)))
