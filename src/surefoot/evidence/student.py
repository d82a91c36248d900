"""Exact normal scores from contrasts of batches: nothing need be known about the noise levels.

A contrast's values C_b, one per batch, are independent and normal with one variance, whatever the
variances of the pairs in it. So T = √m C̄ / s is Student's t with m − 1 degrees of freedom if the
contrast's mean is zero, and no larger, pathwise, than such a variable if it is below.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from surefoot.arrays import Array

ROUNDING = 1e-12  # values that differ by less than this share of their size are the same
LEAST_TAIL = 1e-300
LARGEST = 1e90  # cubes are finite; what is beyond says no more
LOWEST = float(special.ndtri(LEAST_TAIL))  # the lowest score there is


def student_scores(values: Array, shift: float) -> Array:
    """(…) Φ⁻¹(F(T)) for (m, …) contrasts, after adding `shift` to each.

    Where all values are alike, up to rounding, T counts as nothing, or as the lowest there is if
    their mean is below zero: rewards on a lattice would make it infinite.
    """
    m = len(values)
    centre, spread = values.mean(axis=0) + shift, values.std(axis=0, ddof=1)
    usable = spread > ROUNDING * np.abs(values).max(axis=0)
    t = np.divide(np.sqrt(m) * centre, spread, out=np.zeros_like(centre), where=usable)
    return np.where(usable | (centre >= 0), normal_scores(t, m - 1), LOWEST)


def with_a_fall(centre: Array, spread: Array, m: Array | int, fall: Array) -> Array:
    """The t statistic of m values if one more had been seen, that far below the others' mean.

    Where differences are so large that even this would not matter, skewness does not matter.
    """
    known = np.where(np.isfinite(fall), fall, 0.0)
    mean = centre - known / (m + 1)
    error = np.sqrt(((m - 1) * spread**2 + m / (m + 1) * known**2) / m / (m + 1))
    usable = np.isfinite(fall) & (error > 0)
    lowest = np.full(np.shape(mean), -np.inf)
    return np.asarray(np.divide(mean, error, out=lowest, where=usable))


def normal_scores(t: Array, freedom: Array | float) -> Array:
    """Φ⁻¹(F_t(t)) through the tail that is small, so that large scores keep their digits."""
    tail = special.stdtr(freedom, -np.abs(t))
    return np.asarray(-np.sign(t) * special.ndtri(np.maximum(tail, LEAST_TAIL)))


def corrected(t: Array, a: Array) -> Array:
    """Hall's (1992) monotone cubic for a t statistic of skewed values, held at its plateau.

    With a third of the skewness of their mean as a, it is t + a t² + a² t³ / 3 + a / 2. Its
    slope is (1 + a t)²: for a negative a it is flat at t = 1 / |a|, and beyond that it would rise
    above t again.
    """
    level = np.where(a < 0, np.minimum(t, 1 / np.maximum(-a, 1e-300)), t)
    level = np.clip(level, -LARGEST, LARGEST)
    return np.asarray(level + a * level**2 + a**2 * level**3 / 3 + a / 2)
