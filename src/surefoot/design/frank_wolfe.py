"""Designs by plain Frank–Wolfe, as the paper has them: quick to state, and nothing is certified.

Step 2/(k + 2) towards the pair that most reduces the largest criterion, from the uniform design;
the end comes when a step changes the design by less than 1 %, or after 1 000 steps, and weights
below 10⁻⁵ are dropped. The paper names the method alone; these numbers are those of the public code
of Fiez et al. (2019) and of Lindner et al. (2022). Where the criterion is not convex it may end
anywhere, so the lower bound is 0: no claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.designs import Design
from surefoot.design.whitening import whiten
from surefoot.errors import InputError
from surefoot.problem.grouping import smallest_of

Solver = Literal["certified", "frank-wolfe"]
STEPS = 1000
SETTLED = 0.01  # a relative change of the design at which it stops
DROPPED = 1e-5  # weights below it
Worst = Callable[[Array], tuple[float, Array]]  # of A⁻¹: the largest criterion, and its direction


def require_solver(solver: str) -> None:
    """Refuse a solver of designs that is not known."""
    if solver not in get_args(Solver):
        raise InputError(
            f"solver={solver!r} is not known: choose {', '.join(map(repr, get_args(Solver)))}"
        )


def g_by_frank_wolfe(rows: Array) -> Design:
    """Return a design for `eq:G-all`: the largest ‖z‖²_{A⁻¹} is small."""

    def worst(inverse: Array) -> tuple[float, Array]:
        scores = np.einsum("ij,jk,ik->i", rows, inverse, rows)
        return float(scores.max()), np.asarray(rows[int(np.argmax(scores))])

    return _descend(rows, worst)


def robust_xy_by_frank_wolfe(
    pairs: Array, offsets: IntArray, arms: IntArray, rows: Array
) -> Design:
    """Return a design for `eq:eq14` among these arms; arguments as of `robust_xy`."""
    points, measured = whiten(pairs, rows)
    arm_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    apexes = np.flatnonzero(np.isin(arm_of, arms))

    def worst(inverse: Array) -> tuple[float, Array]:
        squares = _squares(points, apexes, inverse)
        least = smallest_of(squares, offsets)
        least[:, np.setdiff1d(np.arange(len(offsets) - 1), arms)] = -np.inf
        least[np.arange(len(apexes)), arm_of[apexes]] = -np.inf
        return _direction(points, apexes, offsets, squares, least)

    return _descend(measured, worst)


def separation_by_frank_wolfe(
    pairs: Array, offsets: IntArray, theta: Array, leader: int, *, rows: Array
) -> Design:
    """Return a design for `eq:oracle`; arguments as of `paper_separation`."""
    points, measured = whiten(pairs, rows)
    values = pairs @ theta
    apexes = np.arange(offsets[leader], offsets[leader + 1])
    gaps = np.maximum(values[apexes, None] - values[None, :], 0.0)

    def worst(inverse: Array) -> tuple[float, Array]:
        squares = _squares(points, apexes, inverse)
        ratios = np.divide(squares, gaps**2, out=np.full_like(squares, np.inf), where=gaps > 0)
        least = smallest_of(ratios, offsets)
        least[:, leader] = -np.inf
        value, direction = _direction(points, apexes, offsets, ratios, least)
        return value, direction

    return _descend(measured, worst)


def _squares(points: Array, apexes: IntArray, inverse: Array) -> Array:
    """Return (n_apexes, n_pairs) ‖z − z'‖²_{A⁻¹}."""
    located = points @ inverse
    lengths = np.einsum("ij,ij->i", located, points)
    crossed = located[apexes] @ points.T
    return np.asarray(np.maximum(lengths[apexes, None] + lengths[None, :] - 2 * crossed, 0.0))


def _direction(
    points: Array, apexes: IntArray, offsets: IntArray, values: Array, least: Array
) -> tuple[float, Array]:
    """Return the largest of the least values, and z − z' where it is attained."""
    row, arm = np.unravel_index(int(np.argmax(least)), least.shape)
    first, last = int(offsets[arm]), int(offsets[arm + 1])
    nearest = first + int(np.argmin(values[row, first:last]))
    return float(least[row, arm]), np.asarray(points[apexes[row]] - points[nearest])


def _descend(rows: Array, worst: Worst) -> Design:
    n = len(rows)
    weights = np.full(n, 1.0 / n)
    for k in range(1, STEPS):
        inverse = np.linalg.pinv((rows.T * weights) @ rows, hermitian=True)
        _, direction = worst(inverse)
        gains = (rows @ (inverse @ direction)) ** 2
        step = 2.0 / (k + 2.0)
        change = -step * weights
        change[int(np.argmax(gains))] += step
        settled = np.linalg.norm(change) < SETTLED * np.linalg.norm(weights)
        weights = weights + change
        if settled:
            break
    small = weights < DROPPED
    weights[int(np.argmax(weights))] += weights[small].sum()
    weights[small] = 0.0
    value, _ = worst(np.linalg.pinv((rows.T * weights) @ rows, hermitian=True))
    return Design(weights / weights.sum(), value, 0.0)
