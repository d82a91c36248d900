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
        self.times, self.boundary = boundary.times, boundary
        self._information = np.zeros(n_arms)
        self._logs = np.log(self.times)
        self._between = (self._logs[1:] + self._logs[:-1]) / 2  # half-way from point to point
        every = np.arange(len(self.times))
        self.middle = int((boundary.level / np.sqrt(self.times)).argmin())
        self._in_the_middle = self.heights(every, np.full_like(every, self.middle))

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

    def heights(self, starts: IntArray, places: IntArray) -> Array:
        """Return boundaries at grid points in √t, by where clocks began."""
        return self.boundary.levels(starts, places) / np.sqrt(self.times[places])

    def level(self, starts: IntArray, then: Array) -> Array:
        """Return the walks that eliminate arms at any times, between points as well.

        Args:
            starts: (n_tested,) where clocks began.
            then: (n_horizons, n_tested) the times.
        """
        place = np.interp(np.log(then), self._logs, np.arange(len(self._logs)))
        below = np.minimum(place.astype(np.int64), max(len(self._logs) - 2, 0))
        above = np.minimum(below + 1, len(self._logs) - 1)
        low, high = (self.heights(starts, each) for each in (below, above))
        return np.asarray((low + (place - below) * (high - low)) * np.sqrt(then))

    def _first(self, scores: Array) -> IntArray:
        """(n_tested,) where clocks begin: phases with such scores end them near the middle."""
        phases = np.maximum((self._in_the_middle / scores[:, None]) ** 2, 1.0)
        away = self._logs[self.middle] - np.log(phases) - self._logs
        return np.asarray(np.abs(away).argmin(axis=1))
