"""PRIME's schedule: sizes, weights and boundary of all looks, fixed before any data that counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.boundaries import Weights, mixture, worst_crossing_probability
from surefoot.errors import InputError
from surefoot.evidence.attained import Attained, GaussianAttained, MixtureAttained
from surefoot.noise import Noise

ABOVE = 1 + 1e-6  # what rounding may add to a probability
ROUND_LOOKS = (20, 30, 40, 50, 60, 70)  # where looks may close: few numbers, so few boundaries


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


class Steps(NamedTuple):
    """(n_looks,) pulls of phases in units, and the variances that they add to the walk."""

    sizes: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Schedule:
    """The looks of one epoch.

    Attributes:
        sizes: (n_looks,) scheduled pulls of each phase, in units.
        weights: (n_looks,) variances of the walk's steps.
        variances: (n_looks + 1,) variance of the walk before each look.
        boundary: (n_looks,) c_t: an arm is eliminated when its S_t = W_t / √V_t reaches it.
        strictness: (n_looks,) by how much each c_t² exceeds the lowest.
        share: of δ, that these looks spend.
    """

    sizes: Array
    weights: Array
    variances: Array
    boundary: Array
    strictness: Array
    share: float

    def attained(self, n_arms: int, delta: float, noise: Noise) -> Attained:
        """What follows how sure one is through these looks."""
        weights, strictness = tuple(self.weights.tolist()), tuple(self.strictness.tolist())
        if not noise.mixes:
            return GaussianAttained(n_arms, self.share, weights, strictness)
        mixed = mixture(weights, self.share * delta, strictness)
        return MixtureAttained(n_arms, self.share, weights, mixed)

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
    sizes = _first_sizes(tuning)
    weights = sizes * np.minimum(np.cumsum(sizes) / tuning.trust, 1.0)
    steps = Steps(sizes, np.asarray(weights / weights[0]))
    return _with_boundary(steps, tuning.first_epoch_share, delta, noise, tuning)


def closed(tuning: Tuning, units: float) -> Tuning:
    """The same with no looks after that many units, but for some that make a round number."""
    reached = np.searchsorted(np.cumsum(_first_sizes(tuning)), units) + 1
    enough = [looks for looks in ROUND_LOOKS if reached <= looks <= tuning.looks]
    return replace(tuning, looks=enough[0]) if enough else tuning


def _first_sizes(tuning: Tuning) -> Array:
    """(n_looks,) phases of the first epoch, in units."""
    sizes = [1.0]
    while len(sizes) < tuning.looks:
        rising = min(1.0 + tuning.rise * (len(sizes) - 1), tuning.large)
        sizes.append(max((tuning.growth - 1) * sum(sizes), rising))
    return np.array(sizes)


def continuation(
    epoch: int, units_so_far: float, delta: float, noise: Noise, tuning: Tuning
) -> Schedule:
    """The looks of a later epoch: a fresh walk on phases that keep growing.

    Its level is half of the epoch's before it; all together spend what the first epoch left of δ.
    """
    growing = tuning.growth ** np.arange(tuning.looks)
    sizes = np.asarray((tuning.growth - 1) * units_so_far * growing, dtype=np.float64)
    share = (1 - tuning.first_epoch_share) * 0.5**epoch
    return _with_boundary(Steps(sizes, sizes / sizes[0]), share, delta, noise, tuning)


def _with_boundary(
    steps: Steps, share: float, delta: float, noise: Noise, tuning: Tuning
) -> Schedule:
    sizes, weights = steps
    strictness = tuning.strictness * np.maximum(np.log(tuning.strict / np.cumsum(sizes)), 0.0)
    planned, shape = tuple(weights.tolist()), tuple(strictness.tolist())
    boundary = noise.boundary(planned, share * delta, shape)
    if not noise.mixes:
        hold_against_idleness(
            planned, boundary, share * delta, "a larger growth, fewer looks, or less strictness"
        )
    variances = np.concatenate([[0.0], np.cumsum(weights)])
    return Schedule(sizes, weights, variances, boundary, strictness, share)


def hold_against_idleness(steps: Weights, boundary: Array, level: float, instead: str) -> None:
    """Refuse looks at which walks that now and then stand still would cross too often."""
    if _worst(steps, tuple(boundary.tolist())) > ABOVE * level:
        raise InputError(
            "tuning: with these looks, phases that measure nothing could raise the error above "
            f"delta: choose {instead}"
        )


@lru_cache(maxsize=256)
def _worst(steps: Weights, boundary: Weights) -> float:
    return worst_crossing_probability(steps, np.array(boundary))
