"""Designs remembered per problem: a run, or many runs on one problem, solve each of them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from weakref import WeakKeyDictionary

import numpy as np

from surefoot.arrays import Array
from surefoot.design.g_optimal import g_optimal
from surefoot.design.types import Design
from surefoot.problem.problem import RobustProblem

MOST_REMEMBERED = 256
_REMEMBERED: WeakKeyDictionary[RobustProblem, dict[Hashable, Design]] = WeakKeyDictionary()


def remembered(problem: RobustProblem, key: Hashable, solve: Callable[[], Design]) -> Design:
    """`solve()`, or what it gave before: problems never change, so neither do their designs."""
    known = _REMEMBERED.setdefault(problem, {})
    if key not in known:
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[key] = solve()
    return known[key]


def g_weights(problem: RobustProblem, scales: Array, tolerance: float = 1e-3) -> Array:
    """(n_pairs,) λ^G of `eq:G-all`, for pulls with these noise scales."""
    key, own = ("g", noise_key(scales), tolerance), problem.pullable
    design = remembered(
        problem, key, lambda: g_optimal(problem.pairs[own] / scales[own, None], tolerance)
    )
    return on_all_pairs(problem, design.weights)


def on_all_pairs(problem: RobustProblem, weights: Array) -> Array:
    """(n_pairs,) the weights of the pairs that can be pulled, and zeros for others."""
    if problem.pulled is None:
        return weights
    every = np.zeros(problem.n_pairs)
    every[problem.pullable] = weights
    return every


def noise_key(scales: Array) -> Hashable:
    """The scales as a key, short where they are all the same."""
    return float(scales[0]) if (scales == scales[0]).all() else scales.tobytes()
