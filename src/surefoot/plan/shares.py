"""Shares of pulls under which all comparisons are likeliest to be settled, compiled.

With contrasts a_k fixed, comparison k has after h phases the signal g_k √h / √(Σ_i a_ki² s_i / λ_i)
and is settled with probability about Φ((slope · signal − evidence − wealth / signal) / spread). The
update λ ← λ √gradient climbs the product over all. Aims are made anew at every step; as those
of least squares have the smallest variance, that changes none of them to first order, and what is
climbed is concave. It is the same whether a contrast is a fit, a difference, or between the two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel

ENOUGH = 0.02  # what the best pair may promise beyond the average, in that average
LEAST = 1e-9  # share of a pair that may come back
RIDGE = 1e-9  # of the mean information: a direction that is not measured gets a finite length
# sums may be taken in another order: vector units then work on them
REORDERED = {"reassoc", "contract"}


class Aims(NamedTuple):
    """Comparisons in the order of their deviations.

    Attributes:
        rows: (n_candidates, dimension) features of the pairs that may be pulled.
        noise: (n_candidates,) variances of their means if a phase were theirs alone.
        features: (n, dimension) differences of features that are compared.
        inside: (n, n_candidates) the differences themselves, on these pairs.
        starts: (n_groups + 1,) where comparisons of one deviation begin.
        deviations: (n_groups,) τ²: 0 the fit, ∞ the difference of own means.
    """

    rows: Array
    noise: Array
    features: Array
    inside: Array
    starts: IntArray
    deviations: Array


class Needs(NamedTuple):
    """Gaps that are expected and evidence that is missing, at some horizon: (n,) each.

    Attributes:
        gaps: expected, positive.
        evidence, wealth: missing, in standard deviations and as the logarithm of a wealth.
        spreads: standard deviations of the evidence to come.
        slope: of evidence in the signal.
        phases: the horizon.
    """

    gaps: Array
    evidence: Array
    wealth: Array
    spreads: Array
    slope: float
    phases: float


@kernel(fastmath=REORDERED)
def climb(aims: Aims, needs: Needs, shares: Array, lengths: Array, steps: int) -> None:
    """Improve the shares in place; write the contrasts' deviations in a phase with these shares."""
    columns = np.ascontiguousarray(aims.rows.T)  # loops over pairs are then loops over neighbours
    (dimension, n), root = columns.shape, math.sqrt(needs.phases)
    variances, precision, kept = np.empty(n), np.empty(n), np.empty(n)
    gradient, squares, weights = np.empty(n), np.empty(n), np.empty(n)
    inverse, left = np.empty((dimension, dimension)), np.empty(dimension)
    for step in range(steps + 1):
        gradient[:] = 0.0
        top = -np.inf
        for i in range(n):
            variances[i] = aims.noise[i] / shares[i]
        for group in range(len(aims.deviations)):
            tau = aims.deviations[group]
            for i in range(n):
                precision[i] = 1.0 if tau == np.inf else 1.0 / (variances[i] + tau)
                kept[i] = 1.0 if tau == np.inf else tau * precision[i]
            _invert_information(columns, precision, inverse)
            for k in range(aims.starts[group], aims.starts[group + 1]):
                left[:] = aims.features[k]
                if tau > 0.0:
                    _leave_own(columns, kept, aims.inside[k], left)
                weights[:] = 0.0
                for a in range(dimension):
                    solved = 0.0
                    for b in range(dimension):
                        solved += inverse[a, b] * left[b]
                    for i in range(n):
                        weights[i] += solved * columns[a, i]
                square = 0.0
                for i in range(n):
                    weight = kept[i] * aims.inside[k, i] + precision[i] * weights[i]
                    squares[i] = weight * weight * variances[i]
                    square += squares[i]
                lengths[k] = math.sqrt(square)
                if step == steps or square <= 0.0:
                    continue
                signal = root * needs.gaps[k] / lengths[k]
                missing = needs.evidence[k] + needs.wealth[k] / signal
                score = (needs.slope * signal - missing) / needs.spreads[k]
                slope = (needs.slope + needs.wealth[k] / signal**2) / needs.spreads[k]
                worth = -(score**2) / 2 - log_normal(score) + math.log(slope * signal / square)
                if worth > top:  # all are kept relative to the largest
                    shrunk = math.exp(top - worth)
                    for i in range(n):
                        gradient[i] *= shrunk
                    top = worth
                pull = math.exp(worth - top)
                for i in range(n):
                    gradient[i] += pull * squares[i]
        if step == steps or _take_step(gradient, shares):
            return


@kernel
def _take_step(gradient: Array, shares: Array) -> bool:
    """Multiply shares by the roots of their gradients, which came times the shares.

    Returns:
        Whether there was next to nothing to gain: then nothing is changed.
    """
    whole, largest = 0.0, 0.0
    for i in range(len(shares)):
        whole += gradient[i]
        largest = max(largest, gradient[i] / shares[i])
    if largest <= (1 + ENOUGH) * whole:
        return True
    whole = 0.0
    for i in range(len(shares)):
        shares[i] = math.sqrt(shares[i] * gradient[i])
        whole += shares[i]
    if whole <= 0.0:
        shares[:] = 1.0
        whole = float(len(shares))
    again = 0.0
    for i in range(len(shares)):
        shares[i] = max(shares[i] / whole, LEAST)
        again += shares[i]
    for i in range(len(shares)):
        shares[i] /= again
    return False


@kernel(fastmath=REORDERED)
def _leave_own(columns: Array, kept: Array, inside: Array, left: Array) -> None:
    """Take from the features what pairs' own residuals account for."""
    for i in range(len(kept)):
        own = kept[i] * inside[i]
        if own != 0.0:
            for a in range(len(left)):
                left[a] -= own * columns[a, i]


@kernel(fastmath=REORDERED)
def _invert_information(columns: Array, precision: Array, inverse: Array) -> None:
    """Write the inverse of Σ precision z zᵀ, with a little ridge, by its Cholesky factor."""
    dimension, n = columns.shape
    factor, weighted = np.zeros((dimension, dimension)), np.empty(n)
    trace = 0.0
    for a in range(dimension):
        for i in range(n):
            weighted[i] = precision[i] * columns[a, i]
        for b in range(a + 1):
            total = 0.0
            for i in range(n):
                total += weighted[i] * columns[b, i]
            factor[a, b] = total
        trace += factor[a, a]
    for a in range(dimension):
        factor[a, a] += RIDGE * trace / dimension
    for i in range(dimension):
        for j in range(i + 1):
            left = factor[i, j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            factor[i, j] = left / factor[j, j] if i > j else math.sqrt(max(left, 1e-300))
    inverse[:, :] = 0.0
    for column in range(dimension):
        inverse[column, column] = 1.0
        for a in range(column, dimension):
            for b in range(column, a):
                inverse[a, column] -= factor[a, b] * inverse[b, column]
            inverse[a, column] /= factor[a, a]
    for column in range(dimension):
        for a in range(dimension - 1, -1, -1):
            for b in range(a + 1, dimension):
                inverse[a, column] -= factor[b, a] * inverse[b, column]
            inverse[a, column] /= factor[a, a]


@kernel
def log_normal(t: float) -> float:
    """Return log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)
