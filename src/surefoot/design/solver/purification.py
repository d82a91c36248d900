"""The same information from fewer rows: Carathéodory's theorem, step by step.

A_λ and Σλ are linear in λ, so they live in d(d + 1)/2 + 1 dimensions; more supported rows than that
(or fewer, if they are special, such as rows along one line) are linearly dependent there, and
weight can be moved along the dependence, changing neither A nor the sum, until one row has none
left.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array

DEPENDENT = 1e-10
MOST_ROWS = 500  # above this the eigenvalues would take longer than the design


def purified(whitened: Array, weights: Array) -> Array:
    """Weights with the same A and the same sum on linearly independent rows.

    Args:
        whitened: (n_rows, dimension) rows in coordinates where A_λ is the identity (on its range).
        weights: (n_rows,) positive.
    """
    if len(weights) > MOST_ROWS:
        return weights
    scaled = whitened * np.sqrt(weights)[:, None]
    gram = (scaled @ scaled.T) ** 2 + np.outer(weights, weights)
    return weights * _cancel(_kernel(gram))


def _kernel(gram: Array) -> Array:
    """(n_rows, n_dependences) relative changes of the weights that change nothing else."""
    _, indefinite = lapack.dpotrf(gram - DEPENDENT * np.diag(gram.diagonal()), lower=1)
    if not indefinite:
        return np.empty((len(gram), 0))
    scale = 1.0 / np.sqrt(gram.diagonal())
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    return np.asarray(vectors[:, values < DEPENDENT] * scale[:, None])


def _cancel(kernel: Array) -> Array:
    """Factors for the weights, from 1 to exact zeros, one for each dependence."""
    factors = np.ones(len(kernel))
    while kernel.shape[1]:
        change = kernel[:, 0]
        largest = int(
            np.argmax(np.divide(-change, factors, out=np.zeros_like(change), where=factors > 0.0))
        )
        if change[largest] >= 0.0:
            kernel[:, 0] *= -1.0
            largest = int(
                np.argmax(
                    np.divide(-change, factors, out=np.zeros_like(change), where=factors > 0.0)
                )
            )
        factors += change * (factors[largest] / -change[largest])
        factors[largest] = 0.0
        np.maximum(factors, 0.0, out=factors)
        kernel = _without(kernel, largest)
    return factors


def _without(kernel: Array, row: int) -> Array:
    """The dependences that leave a row alone: one fewer."""
    pivot = int(np.argmax(np.abs(kernel[row])))
    rest = np.delete(kernel, pivot, axis=1) - np.outer(
        kernel[:, pivot], np.delete(kernel[row], pivot) / kernel[row, pivot]
    )
    rest[row] = 0.0
    return np.asarray(rest / np.abs(rest).max(axis=0, initial=1e-300))
