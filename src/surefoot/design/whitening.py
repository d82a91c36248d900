"""Whitening: coordinates in which an information matrix is the identity, and lengths are standard
errors. There are several ways because matrices come as rows or as sums, sure to be of full rank or
not.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from surefoot.arrays import Array
from surefoot.errors import InputError

SINGULAR = 1e-13  # eigenvalues below this share of the largest are zero
RANGE_FLOOR = 1e-10  # … and here they become this share of it
WELL_MEASURED = 1e-6  # pivots above this share of the largest leave no doubt about the rank
RANGE_TOLERANCE = 1e-11  # singular values below this share of the largest are zero


def whiten(points: Array, rows: Array) -> tuple[Array, Array]:
    """Points and measurement rows after the linear map that makes the mean of r rᵀ the identity.

    Every criterion of a design is invariant under an invertible linear map of the features (pairs,
    rows and directions map together), so this changes no answer, only its rounding errors.
    """
    scales = np.sqrt(np.mean(rows**2, axis=0))
    if not (scales > 0).all():
        raise _deficient(rows)
    scaled = rows / scales
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(rows))
    if values[0] <= SINGULAR * values[-1]:
        raise _deficient(rows)
    transform = (vectors / np.sqrt(values)) / scales[:, None]
    return np.ascontiguousarray(points @ transform), np.ascontiguousarray(rows @ transform)


def whiten_exactly(points: Array, rows: Array) -> tuple[Array, Array]:
    """Whiten by singular values, which lose half as many digits: columns first, so that features
    of very different size lose none, then directions.
    """
    size = np.linalg.norm(rows, axis=0)
    left, singular, right = np.linalg.svd(rows / size, full_matrices=False)
    transform = (right.T / singular) / size[:, None] * np.sqrt(len(rows))
    return points @ transform, np.ascontiguousarray(left) * np.sqrt(len(rows))


def cholesky_whitener(information: Array) -> Array | None:
    """T with A⁻¹ = TᵀT, or None if A is not positive definite."""
    factor, failed = lapack.dpotrf(information, lower=1)
    if failed:
        return None
    inverse, failed = lapack.dtrtri(factor, lower=1)
    return None if failed else np.ascontiguousarray(inverse)


def spectral_whitener(information: Array) -> Array:
    """T with A⁻¹ = TᵀT; directions outside the range of A get a huge, finite length."""
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, RANGE_FLOOR * values[-1])
    return np.ascontiguousarray((vectors / np.sqrt(values)).T)


def unit_free_root(information: Array) -> Array | None:
    """Return R with RᵀAR = I, free of the features' units; None if A is singular."""
    units = np.sqrt(np.diag(information))
    if not (units > 0).all():
        return None
    values, vectors = np.linalg.eigh(information / np.outer(units, units))
    if values[0] <= SINGULAR * values[-1]:
        return None
    return np.asarray(vectors / np.sqrt(values) / units[:, None])


def measured_root(rows: Array) -> tuple[Array, Array]:
    """Return (dimension, rank) R with RᵀAR = I, A = rowsᵀrows, and (dimension, ·) A's null space.

    By a pivoted QR decomposition if that shows the rank to be full beyond doubt, else by singular
    values.
    """
    n, dimension = rows.shape
    if n >= dimension:
        factors, pivots, *_ = lapack.dgeqp3(rows, lwork=32 * (dimension + 1) + 2 * dimension)
        diagonal = np.abs(factors.diagonal())
        if diagonal.min() > WELL_MEASURED * diagonal[0]:
            root = np.empty((dimension, dimension))
            inverse, _ = lapack.dtrtri(factors[:dimension])
            root[pivots - 1] = np.where(_upper(dimension), inverse, 0.0)
            return root, np.empty((dimension, 0))
    _, singular, right = np.linalg.svd(rows, full_matrices=n < dimension)
    rank = int((singular > RANGE_TOLERANCE * singular[0]).sum())
    return right[:rank].T / singular[:rank], right[rank:].T


@cache
def _upper(dimension: int) -> NDArray[np.bool_]:
    """Return (dimension, dimension) the upper triangle."""
    return np.triu(np.ones((dimension, dimension), dtype=bool))


def _deficient(rows: Array) -> InputError:
    return InputError(
        f"the {len(rows)} pairs do not span all {rows.shape[1]} dimensions, so some parameters can "
        "never be estimated: give coordinates of their span (RobustProblem does that)"
    )
