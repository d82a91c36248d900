"""PRIME's schedule with a model: sizes and boundary of all looks, fixed before any data count."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.certify import Boundary
from surefoot.noise import Noise

ROUND_LOOKS = (20, 30, 40, 50, 60)  # numbers of looks that a tolerance or a budget may leave
LATE_LOOKS = 200  # beyond those, with a boundary that rises: no run ends for want of looks
HIGHEST = 12.0  # by how much c² rises at most: so rare that it is as good as free


class Look(NamedTuple):
    """Where the walk stands before a phase, and what the schedule holds for it.

    Attributes:
        variance: V so far.
        weight: what the next phase adds to V.
        size: its scheduled pulls.
        boundary: the c it will be held to, in √V.
    """

    variance: float
    weight: float
    size: float
    boundary: float


@dataclass(frozen=True, eq=False)
class Schedule:
    """The looks of a run.

    Attributes:
        sizes: (n_looks,) scheduled pulls of each phase, in units.
        boundary: what the evidence is held against; its grid has a point for each look.
    """

    sizes: Array
    boundary: Boundary

    def look(self, index: int, unit: int) -> Look:
        """Return one of the looks, where a unit is this many pulls."""
        times = self.boundary.times
        before = float(times[index - 1]) if index else 0.0
        return Look(
            variance=before,
            weight=float(times[index]) - before,
            size=float(self.sizes[min(index, len(self.sizes) - 1)] * unit),
            boundary=float(self.boundary.level[index] / np.sqrt(times[index])),
        )


def schedule(delta: float, noise: Noise, tuning: Tuning, boundary: Boundary | None) -> Schedule:
    """Plan the looks, those that few runs reach among them, for a boundary that stands or anew."""
    sizes = _sizes(tuning, tuning.looks + LATE_LOOKS)
    if boundary is not None:
        return Schedule(sizes, boundary)
    weights = sizes * np.minimum(np.cumsum(sizes) / tuning.trust, 1.0)
    data, times = np.log(np.cumsum(sizes)), np.cumsum(weights / weights[0])
    early = tuning.strictness * np.maximum(math.log(max(tuning.strict, 1e-9)) - data, 0.0)
    late = np.clip(tuning.steepness * (data - data[tuning.looks - 1]), 0.0, HIGHEST)
    shape = tuple((early + late).tolist())
    return Schedule(sizes, noise.boundary(tuple(times.tolist()), delta, shape))


def closed(tuning: Tuning, units: float) -> Tuning:
    """Return the tuning without looks after that many units, but for some to a round number."""
    reached = np.searchsorted(np.cumsum(_sizes(tuning, tuning.looks)), units) + 1
    enough = [looks for looks in ROUND_LOOKS if reached <= looks <= tuning.looks]
    return replace(tuning, looks=enough[0]) if enough else tuning


def _sizes(tuning: Tuning, looks: int) -> Array:
    """(n_looks,) phases in units."""
    sizes = [1.0]
    while len(sizes) < looks:
        rising = min(1.0 + tuning.rise * (len(sizes) - 1), tuning.large)
        sizes.append(max((tuning.growth - 1) * sum(sizes), rising))
    return np.array(sizes)
