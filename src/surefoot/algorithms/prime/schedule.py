"""PRIME's schedule with a model: sizes and boundary of all looks, fixed before any data count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.certify import Boundary
from surefoot.noise import Noise

ROUND_LOOKS = (20, 30, 40, 50, 60, 70)  # numbers of looks that a tolerance may leave
LATE_LOOKS = 200  # beyond those that nearly every run ends within


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
    strictness = tuning.strictness * np.maximum(np.log(tuning.strict / np.cumsum(sizes)), 0.0)
    times, shape = np.cumsum(weights / weights[0]), tuple(strictness.tolist())
    share = tuning.first_share
    made = noise.boundary(tuple(times.tolist()), delta, shape, LATE_LOOKS, share)
    return Schedule(sizes, made)


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
