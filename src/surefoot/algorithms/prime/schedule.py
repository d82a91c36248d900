"""PRIME's schedule: sizes, weights and boundary of all looks, fixed before any data that counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.boundaries import Weights, worst_crossing_probability
from surefoot.errors import InputError
from surefoot.noise import Noise

ABOVE = 1 + 1e-6  # what rounding may add to a probability


class Look(NamedTuple):
    """Where the walk stands before a phase, and what the schedule holds for it.

    Attributes:
        variance: V so far.
        weight: what the next phase adds to V.
        size: its scheduled pulls.
        boundary: the c it will be held to.
    """

    variance: float
    weight: float
    size: float
    boundary: float


@dataclass(frozen=True, eq=False)
class Schedule:
    """The looks of one epoch.

    Attributes:
        sizes: (n_looks,) scheduled pulls of each phase, in units.
        weights: (n_looks,) variances of the walk's steps.
        variances: (n_looks + 1,) variance of the walk before each look.
        boundary: (n_looks,) c_t: an arm is eliminated when its S_t = W_t / √V_t reaches it.
    """

    sizes: Array
    weights: Array
    variances: Array
    boundary: Array

    def look(self, index: int, unit: int) -> Look:
        """One of the looks, where a unit is this many pulls."""
        return Look(
            variance=float(self.variances[index]),
            weight=float(self.weights[index]),
            size=float(self.sizes[index] * unit),
            boundary=float(self.boundary[index]),
        )


def first_schedule(delta: float, noise: Noise, tuning: Tuning) -> Schedule:
    """The looks that nearly every run ends within."""
    sizes = [1.0]
    while len(sizes) < tuning.looks:
        rising = min(1.0 + tuning.rise * (len(sizes) - 1), tuning.large)
        sizes.append(max((tuning.growth - 1) * sum(sizes), rising))
    weights = np.array(sizes) * np.minimum(np.cumsum(sizes) / tuning.trust, 1.0)
    level = tuning.first_epoch_share * delta
    return _with_boundary(np.array(sizes), np.asarray(weights / weights[0]), level, noise, tuning)


def continuation(
    epoch: int, units_so_far: float, delta: float, noise: Noise, tuning: Tuning
) -> Schedule:
    """The looks of a later epoch: a fresh walk on phases that keep growing.

    Its level is half of the epoch's before it; all together spend what the first epoch left of δ.
    """
    growing = tuning.growth ** np.arange(tuning.looks)
    sizes = np.asarray((tuning.growth - 1) * units_so_far * growing, dtype=np.float64)
    level = (1 - tuning.first_epoch_share) * delta * 0.5**epoch
    return _with_boundary(sizes, sizes / sizes[0], level, noise, tuning)


def _with_boundary(
    sizes: Array, weights: Array, delta: float, noise: Noise, tuning: Tuning
) -> Schedule:
    strictness = tuning.strictness * np.maximum(np.log(tuning.strict / np.cumsum(sizes)), 0.0)
    steps = tuple(weights.tolist())
    boundary = noise.boundary(steps, delta, tuple(strictness.tolist()))
    if not tuning.has_tested_boundary and _worst(steps, tuple(boundary.tolist())) > ABOVE * delta:
        raise InputError(
            "tuning: with these looks, phases that measure nothing could raise the error above "
            "delta: choose a larger growth, fewer looks, or a smaller strict or strictness"
        )
    return Schedule(sizes, weights, np.concatenate([[0.0], np.cumsum(weights)]), boundary)


@lru_cache(maxsize=64)
def _worst(steps: Weights, boundary: Weights) -> float:
    return worst_crossing_probability(steps, np.array(boundary))
