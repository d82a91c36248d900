"""The boundary for arms that have a clock each: a fixed grid on which any clock may stop."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.settings import Settings
from surefoot.certify import Boundary, WealthBoundary
from surefoot.noise.boundaries import boundary_by_starts

# beyond it, walks that stand still now and then cross this grid more often than is spent
LARGEST_DELTA = 0.5
# points before the middle from which on clocks that begin there have a boundary of their own
STARTS = (29, 21, 15, 11, 7, 3, 0)


def clock_boundary(settings: Settings, tuning: Tuning | None = None) -> Boundary:
    """Return the boundary of a new run in which every arm's clock goes on by itself."""
    tuning, noise = tuning or Tuning(), settings.noise
    if noise.evidence == "wealth" and not settings.modelled:
        return WealthBoundary(settings.delta)
    delta = tuning.grid_spent * min(settings.delta, LARGEST_DELTA)
    times, shape = _times(tuning.grid_growth, tuning.grid_points), _shape(tuning)
    if noise.mixes:
        return noise.boundary(times, delta, shape)
    later = (tuning.grid_middle - before for before in STARTS)
    starts = (0, *(start for start in later if 0 < start < tuning.grid_points))
    return boundary_by_starts(times, delta, shape, starts)


@lru_cache(maxsize=8)
def _times(growth: float, points: int) -> tuple[float, ...]:
    """Points of a grid on which clocks may stop; the first is at 1."""
    return tuple((growth ** np.arange(points)).tolist())


def _shape(tuning: Tuning) -> tuple[float, ...]:
    """By how much c² exceeds its lowest at each point: it rises with the distance in log-time."""
    points = np.arange(tuning.grid_points)
    away = np.abs(points - tuning.grid_middle) * math.log(tuning.grid_growth)
    return tuple((tuning.grid_rise * away).tolist())
