"""PRIME's plan: sizes, weights and boundary of all looks, fixed before any data that counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.noise import Noise
from surefoot.statistics import Array

LOOKS = 70
GROWTH = 1.12
RISE = 0.25  # units by which the first phases grow, up to
LARGE = 2.0  # units; from there on by the share above
# phases before this many units of data count less: their rivals are chosen from little
TRUST = 12.0
# looks before this many units have a higher boundary: few runs end there, and the others gain by it
STRICT = 4.0
STRICTNESS = 2.0  # added to c² for each factor e that they come before it
FIRST_EPOCH_SHARE = 0.98


@dataclass(frozen=True, eq=False)
class Schedule:
    """The looks of one epoch.

    Attributes:
        sizes: (n_looks,) planned pulls of each phase, in units of the smallest.
        weights: (n_looks,) variances of the walk's steps.
        variances: (n_looks + 1,) variance of the walk before each look.
        boundary: (n_looks,) c_t: an arm is eliminated when its S_t = W_t / √V_t reaches it.
    """

    sizes: Array
    weights: Array
    variances: Array
    boundary: Array


def first_schedule(delta: float, noise: Noise) -> Schedule:
    """The looks that nearly every run ends within."""
    sizes = [1.0]
    while len(sizes) < LOOKS:
        sizes.append(max((GROWTH - 1) * sum(sizes), min(1.0 + RISE * (len(sizes) - 1), LARGE)))
    weights = np.array(sizes) * np.minimum(np.cumsum(sizes) / TRUST, 1.0)
    return _with_boundary(
        np.array(sizes), np.asarray(weights / weights[0]), FIRST_EPOCH_SHARE * delta, noise
    )


def continuation(epoch: int, units_so_far: float, delta: float, noise: Noise) -> Schedule:
    """The looks of a later epoch: a fresh walk at level 0.02·δ·2^−epoch, on phases that keep
    growing.
    """
    sizes = np.asarray((GROWTH - 1) * units_so_far * GROWTH ** np.arange(LOOKS), dtype=np.float64)
    level = (1 - FIRST_EPOCH_SHARE) * delta * 0.5**epoch
    return _with_boundary(sizes, sizes / sizes[0], level, noise)


def _with_boundary(sizes: Array, weights: Array, delta: float, noise: Noise) -> Schedule:
    strictness = STRICTNESS * np.maximum(np.log(STRICT / np.cumsum(sizes)), 0.0)
    boundary = noise.boundary(tuple(weights.tolist()), delta, tuple(strictness.tolist()))
    return Schedule(sizes, weights, np.concatenate([[0.0], np.cumsum(weights)]), boundary)
