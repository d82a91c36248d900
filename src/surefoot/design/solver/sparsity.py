"""Fewer rows for the same design: weights that do not matter cut, the rest concentrated."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.families import EVERY_BLOCK, Family, Vertices
from surefoot.design.solver.working_set import Certified, WorkingSet
from surefoot.design.whitening import spectral_whitener

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
    """Return the dependences that leave a row alone: one fewer."""
    pivot = int(np.argmax(np.abs(kernel[row])))
    rest = np.delete(kernel, pivot, axis=1) - np.outer(
        kernel[:, pivot], np.delete(kernel[row], pivot) / kernel[row, pivot]
    )
    rest[row] = 0.0
    return np.asarray(rest / np.abs(rest).max(axis=0, initial=1e-300))


CUTS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
CORE = 1e-4  # rows with this share of the largest weight matter by themselves
WASTE = 2.0  # more support than this times the core is worth another try
POLISHING_ROUNDS = 3


def sparse(rows: Array, family: Family, found: Certified, tolerance: float) -> Certified:
    """Exact zeros where they cost at most the tolerance, or next to nothing if it is used up."""
    within = found.bound * (1.0 + tolerance)
    allowed = within if found.value <= within else found.value * (1.0 + 0.1 * tolerance)
    best, low, high = found, 0, len(CUTS)
    while low < high:  # the largest cut that is allowed; larger cuts cost more
        middle = (low + high) // 2
        weights = _cut(rows, found.weights, CUTS[middle])
        value = value_at(rows, family, weights, 0.9 * found.value)
        if value <= allowed:
            best, high = Certified(weights, value, found.bound, found.rounds), middle
        else:
            low = middle + 1
    core = np.flatnonzero(found.weights >= CORE * found.weights.max())
    if np.count_nonzero(best.weights) > WASTE * core.size:
        return _polished(rows, family, best, core, allowed, tolerance)
    return best


def _polished(
    rows: Array, family: Family, best: Certified, core: IntArray, allowed: float, tolerance: float
) -> Certified:
    """Return the best design on the core rows alone, if that is good enough."""
    if np.linalg.matrix_rank(rows[core]) < rows.shape[1]:
        return best
    working = WorkingSet(rows[core], family, tolerance, best.weights[core])
    for _ in range(POLISHING_ROUNDS):
        working.round(0.3 * tolerance)
        if working.best.value <= allowed:
            break
    weights = np.zeros_like(best.weights)
    weights[core] = working.best.weights
    weights = _cut(rows, weights, 0.0)
    value = value_at(rows, family, weights, 0.9 * best.value)
    return Certified(weights, value, best.bound, best.rounds) if value <= allowed else best


def _cut(rows: Array, weights: Array, cut: float) -> Array:
    """Without the smallest weights, on as few rows as carry the same information."""
    support = np.flatnonzero(weights > cut * weights.max())
    kept = weights[support] / weights[support].sum()
    whitener = spectral_whitener((rows[support].T * kept) @ rows[support])
    concentrated = np.zeros_like(weights)
    concentrated[support] = purified(rows[support] @ whitener.T, kept)
    return np.asarray(concentrated / concentrated.sum())


def value_at(rows: Array, family: Family, weights: Array, threshold: float = 0.0) -> float:
    """Return the family's criterion at these weights, exactly if it is above the threshold."""
    support = np.flatnonzero(weights)
    information = (rows[support].T * weights[support]) @ rows[support]
    return max(
        threshold, family.price(spectral_whitener(information), threshold, EVERY_BLOCK).value
    )


MAX_ROUNDS = 60
PATIENCE = 3  # rounds without progress: new blocks and rows may still come in
MANY_ROWS = 2_000  # above this, one start must do


def descend(rows: Array, family: Vertices, tolerance: float, hull: Certified) -> Certified:
    """Return the best design found from three starts: the relaxation's, halfway to uniform, afar.

    The lower bound is the relaxation's: a bound for one fixed choice would not be valid here.
    """
    best = Certified(hull.weights, value_at(rows, family, hull.weights), hull.bound, hull.rounds)
    for start in _starts(hull.weights):
        if best.value <= hull.bound * (1.0 + tolerance):
            break
        found = _from(rows, family, tolerance, start, hull.bound)
        if found.value < best.value:
            best.weights, best.value = found.weights, found.value
    return sparse(rows, family, best, tolerance)


def _starts(hull: Array) -> list[Array | None]:
    if hull.size > MANY_ROWS:
        return [hull]
    support = hull > 0.0
    return [hull, 0.5 * hull + 0.5 * support / np.count_nonzero(support), None]


def _from(
    rows: Array, family: Vertices, tolerance: float, start: Array | None, bound: float
) -> Certified:
    working = WorkingSet(rows, family, tolerance, start)
    slow = 0
    for _ in range(MAX_ROUNDS):
        before = working.best.value
        working.round(0.3 * tolerance)
        slow = slow + 1 if working.best.value > before * (1.0 - 0.3 * tolerance) else 0
        if slow >= PATIENCE or working.best.value <= bound * (1.0 + tolerance):
            break
    return working.best
