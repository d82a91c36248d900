"""Exact zeros: cut the weights that do not matter, and concentrate the rest on independent rows."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.families import EVERY_BLOCK, Family
from surefoot.design.solver.purification import purified
from surefoot.design.solver.working_set import Certified, WorkingSet
from surefoot.design.whitening import spectral_whitener

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
    """The best design on the core rows alone, if that is good enough."""
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
    """The family's criterion at these weights, exactly if it is above the threshold."""
    support = np.flatnonzero(weights)
    information = (rows[support].T * weights[support]) @ rows[support]
    return max(
        threshold, family.price(spectral_whitener(information), threshold, EVERY_BLOCK).value
    )
