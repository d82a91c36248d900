"""Exact zeros: cut the weights that do not matter, and concentrate the rest on independent rows."""

from __future__ import annotations

import numpy as np

from surefoot.design.families import EVERY_BLOCK, Family
from surefoot.design.purification import purified
from surefoot.design.small_problem import spectral_whitener
from surefoot.design.types import FloatArray
from surefoot.design.working_set import Certified

CUTS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)


def sparse(rows: FloatArray, family: Family, found: Certified, tolerance: float) -> Certified:
    """Exact zeros wherever they cost no more than the tolerance, or next to nothing if that is used up."""
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
    return best


def _cut(rows: FloatArray, weights: FloatArray, cut: float) -> FloatArray:
    """Without the weights below a share of the largest, on as few rows as carry the same information."""
    support = np.flatnonzero(weights >= cut * weights.max())
    kept = weights[support] / weights[support].sum()
    whitener = spectral_whitener((rows[support].T * kept) @ rows[support])
    concentrated = np.zeros_like(weights)
    concentrated[support] = purified(rows[support] @ whitener.T, kept)
    return np.asarray(concentrated / concentrated.sum())


def value_at(rows: FloatArray, family: Family, weights: FloatArray, threshold: float = 0.0) -> float:
    """The family's criterion at these weights, exactly if it is above the threshold."""
    support = np.flatnonzero(weights)
    information = (rows[support].T * weights[support]) @ rows[support]
    return max(threshold, family.price(spectral_whitener(information), threshold, EVERY_BLOCK).value)
