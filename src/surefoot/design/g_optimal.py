"""The G design: the pulls that make the worst prediction variance over all pairs smallest.

By Kiefer and Wolfowitz (1960) it is the D-optimal design, and its value is the dimension: the gap
needs no dual. The D-optimal design on a few rows solves min 1ᵀλ − log det A_λ, λ ≥ 0 (its weights
then sum to d), by a primal-dual interior point; rows whose variance exceeds 1 there are added,
until there are none.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.comparison import squared_lengths
from surefoot.design.solver.working_set import extreme_rows
from surefoot.design.types import Design
from surefoot.design.whitening import cholesky_whitener, whiten
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

FEW_ROWS = 150  # up to this many, all are in from the start
CHUNK_ROWS = 10_000
MAX_ROUNDS = 60
MAX_ITERATIONS = 60
DROP = 1e-9  # a share of the largest weight
INNER = 0.1  # the small problem is solved to this share of the gap that pricing showed
FIRST_COST = 0.03  # reduced costs at the start: small, because the start is close


def g_design(problem: RobustProblem, tolerance: float = 1e-3) -> Design:
    """The design with the smallest largest prediction variance of all pairs (`eq:G-all`)."""
    if not isinstance(problem, RobustProblem):
        raise InputError(
            f"a {type(problem).__name__} is no problem: give a RobustProblem, for rows of features "
            "RobustProblem.from_pairs(rows, arms)"
        )
    return g_optimal(problem.pairs, tolerance)


def g_optimal(rows: Array, tolerance: float = 1e-3) -> Design:
    """The G-optimal design over measurement rows.

    Args:
        rows: (n_pairs, dimension) of full column rank.
        tolerance: the largest relative gap; the lower bound is the dimension.

    Returns:
        A design whose value is max over rows of rᵀA⁻¹r.
    """
    measured, _ = whiten(rows, rows)
    atoms = np.arange(len(rows)) if len(rows) <= FEW_ROWS else extreme_rows(measured)
    weights = np.full(atoms.size, rows.shape[1] / atoms.size)
    inner = 0.03
    for _ in range(MAX_ROUNDS):
        weights, variances = _d_optimal(measured[atoms], weights, inner)
        everywhere = _variances(measured, measured[atoms], weights)
        gap = float(everywhere.max() * weights.sum()) / rows.shape[1] - 1.0
        if gap <= 0.7 * tolerance:
            break
        atoms, weights = _exchange(atoms, weights, variances, everywhere)
        inner = max(0.3 * tolerance, min(0.3 * inner, INNER * gap))
    return _finished(measured, atoms, weights, tolerance)


def _d_optimal(rows: Array, weights: Array, tolerance: float) -> tuple[Array, Array]:
    """D-optimal weights (they sum to d) on a few rows, and the variance of each row under them."""
    weights = 0.9 * weights + 0.1 * weights.mean()
    costs = np.full(weights.size, FIRST_COST)
    for _ in range(MAX_ITERATIONS):
        whitened = rows @ _inverse_root(rows, weights).T
        cross = whitened @ whitened.T
        variances = cross.diagonal()
        if variances.max() * weights.sum() <= (1.0 + tolerance) * rows.shape[1]:
            break
        centre = 0.1 * float(weights @ costs) / weights.size
        matrix = cross * cross
        index = np.arange(weights.size)
        matrix[index, index] += costs / weights
        _, step, failed = lapack.dposv(matrix, variances - 1.0 + centre / weights, lower=1)
        if failed:
            break
        d_costs = (centre - costs * step) / weights - costs
        weights = weights + min(1.0, 0.95 / max(1e-300, float(np.max(-step / weights)))) * step
        costs = costs + min(1.0, 0.95 / max(1e-300, float(np.max(-d_costs / costs)))) * d_costs
    return weights, variances


def _inverse_root(rows: Array, weights: Array) -> Array:
    whitener = cholesky_whitener((rows.T * weights) @ rows)
    assert whitener is not None, "positive weights on rows of full rank"
    return whitener


def _variances(rows: Array, atoms: Array, weights: Array) -> Array:
    whitener = _inverse_root(atoms, weights)
    variances = np.empty(len(rows))
    for first in range(0, len(rows), CHUNK_ROWS):
        part = slice(first, first + CHUNK_ROWS)
        variances[part] = squared_lengths(rows[part] @ whitener.T)
    return variances


def _exchange(
    atoms: IntArray, weights: Array, variances: Array, everywhere: Array
) -> tuple[IntArray, Array]:
    """Drop rows that carry nothing, add the rows with the largest variance."""
    dimension = round(weights.sum())  # what D-optimal weights sum to
    kept = (weights > DROP * weights.max()) | (variances > 0.95)
    worst = np.argsort(-everywhere)[: 4 * dimension]
    new = np.setdiff1d(worst[everywhere[worst] > 1.0], atoms)
    start = np.concatenate([weights[kept], np.full(new.size, 0.1 * weights.mean())])
    return np.concatenate([atoms[kept], new]).astype(np.int64), start


def _finished(rows: Array, atoms: IntArray, weights: Array, tolerance: float) -> Design:
    """Exact zeros for weights too small to matter, within the tolerance."""
    dimension = rows.shape[1]
    for cut in (1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-7, 0.0):
        kept = weights > cut * weights.max()
        part = weights[kept] / weights[kept].sum()
        information = (rows[atoms[kept]].T * part) @ rows[atoms[kept]]
        if cholesky_whitener(information) is None:
            continue
        value = float(_variances(rows, rows[atoms[kept]], part).max())
        if value <= (1.0 + tolerance) * dimension:
            break
    everything = np.zeros(len(rows))
    everything[atoms[kept]] = part
    return Design(everything, value, float(dimension))
