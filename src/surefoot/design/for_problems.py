"""Designs remembered per problem: a run, or many runs on one problem, solve each of them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from weakref import WeakKeyDictionary

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
    key = ("g", noise_key(scales), tolerance)
    return remembered(
        problem, key, lambda: g_optimal(problem.pairs / scales[:, None], tolerance)
    ).weights


def noise_key(scales: Array) -> Hashable:
    """The scales as a key, short where they are all the same."""
    return float(scales[0]) if (scales == scales[0]).all() else scales.tobytes()
