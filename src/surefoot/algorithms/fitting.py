"""Least squares on the rewards so far."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.statistics import Counts

# directions that a design measures this much less than its best one are taken as unmeasured
RANK_TOLERANCE = 1e-10
ROUNDING = 1e-12  # relative size of rounding in a fit without noise
MODELLED = 1e-9  # a direction, or a stray, below this share of the largest is rounding


def information(rows: Array, counts: Array | Counts) -> Array:
    """Return (d, d) Σ counts_z z zᵀ over the pairs that were pulled."""
    pulled = np.flatnonzero(counts)
    used = rows[pulled]
    return np.asarray((used.T * counts[pulled]) @ used)


def least_squares(rows: Array, counts: Array | Counts, sums: Array, scales: Array) -> Array:
    """Return (d,) the estimate of least norm: the usual one where the pulled rows span, a guess
    elsewhere.

    Args:
        rows: (n_pairs, d) pairs divided by their scales.
        counts, sums: (n_pairs,) pulls and summed rewards.
        scales: (n_pairs,) noise scales, by which the sums are divided too.
    """
    solution, _ = solved(*weighted(rows, counts, sums, scales, np.flatnonzero(counts)))
    return solution


def weighted(
    rows: Array, counts: Array | Counts, sums: Array, scales: Array, pulled: IntArray
) -> tuple[Array, Array]:
    """Return rows and means of the pulled pairs, each times √count: their noise has one size."""
    root = np.sqrt(counts[pulled])
    return rows[pulled] * root[:, None], sums[pulled] / (root * scales[pulled])


def solved(design: Array, target: Array) -> tuple[Array, int]:
    """Return least squares and the rank, by columns of one size: units of features do not matter.

    LAPACK's complete orthogonal factorisation, called directly: a run asks for this twice a phase.
    """
    n, dimension = design.shape
    if n == 0:
        return np.zeros(dimension), 0
    sizes = np.sqrt((design * design).sum(axis=0))
    sizes[sizes == 0] = 1.0
    padded = np.zeros((max(n, dimension), 1))
    padded[:n, 0] = target
    free, workspace = (
        np.zeros(dimension, dtype=np.int32),
        2 * min(n, dimension) + 35 * (dimension + 1),
    )
    _, solution, _, rank, _ = lapack.dgelsy(
        design / sizes, padded, free, RANK_TOLERANCE, workspace, overwrite_b=True
    )
    return np.asarray(solution[:dimension, 0] / sizes), int(rank)


def of_one_size(rows: Array) -> Array:
    """Return features whose largest values are 1: ranks then do not depend on their units."""
    sizes = np.abs(rows).max(axis=0)
    return np.asarray(rows / np.where(sizes > 0, sizes, 1.0))


def inverse_of(rows: Array, variances: Array) -> tuple[Array, int]:
    """Return least squares as a (dimension, n) matrix, and its rank."""
    root = 1 / np.sqrt(variances)
    left, sizes, right = np.linalg.svd(rows * root[:, None], full_matrices=False)
    rank = int((sizes > MODELLED * sizes.max(initial=0.0)).sum())
    inverse = (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
    return np.asarray(inverse * root), rank
