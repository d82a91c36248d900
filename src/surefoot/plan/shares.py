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
    rows, inside = aims.rows, aims.inside
    (n, dimension), root = rows.shape, math.sqrt(needs.phases)
    variances, total, kept = np.empty(n), np.empty(n), np.empty(n)
    gradient, squares = np.empty(n), np.empty(n)
    factor, solved = np.empty((dimension, dimension)), np.empty(dimension)
    for step in range(steps + 1):
        gradient[:] = 0.0
        top = -np.inf
        for i in range(n):
            variances[i] = aims.noise[i] / shares[i]
        for group in range(len(aims.deviations)):
            tau = aims.deviations[group]
            for i in range(n):
                total[i] = 1.0 if tau == np.inf else variances[i] + tau
                kept[i] = 1.0 if tau == np.inf else tau / total[i]
            _factorise_information(rows, total, factor)
            for k in range(aims.starts[group], aims.starts[group + 1]):
                _solve(aims, kept, tau, factor, k, solved)
                square = 0.0
                for i in range(n):
                    weight = kept[i] * inside[k, i]
                    fitted = 0.0
                    for a in range(dimension):
                        fitted += rows[i, a] * solved[a]
                    weight += fitted / total[i]
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
def _solve(aims: Aims, kept: Array, tau: float, factor: Array, k: int, solved: Array) -> None:
    """Write A⁻¹ of what the fit has to make up for."""
    rows, inside, dimension = aims.rows, aims.inside, len(solved)
    for a in range(dimension):
        solved[a] = aims.features[k, a]
    if tau > 0.0:
        for i in range(len(rows)):
            own = kept[i] * inside[k, i]
            if own != 0.0:
                for a in range(dimension):
                    solved[a] -= own * rows[i, a]
    for a in range(dimension):
        left = solved[a]
        for b in range(a):
            left -= factor[a, b] * solved[b]
        solved[a] = left / factor[a, a]
    for a in range(dimension - 1, -1, -1):
        left = solved[a]
        for b in range(a + 1, dimension):
            left -= factor[b, a] * solved[b]
        solved[a] = left / factor[a, a]


@kernel(fastmath=REORDERED)
def _factorise_information(rows: Array, total: Array, factor: Array) -> None:
    """Write the Cholesky factor of Σ z zᵀ / total, with a little ridge."""
    n, dimension = rows.shape
    factor[:, :] = 0.0
    trace = 0.0
    for i in range(n):
        weight = 1.0 / total[i]
        for a in range(dimension):
            scaled = weight * rows[i, a]
            trace += scaled * rows[i, a]
            for b in range(a + 1):
                factor[a, b] += scaled * rows[i, b]
    for a in range(dimension):
        factor[a, a] += RIDGE * trace / dimension
    for i in range(dimension):
        for j in range(i + 1):
            left = factor[i, j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            factor[i, j] = left / factor[j, j] if i > j else math.sqrt(max(left, 1e-300))


@kernel
def log_normal(t: float) -> float:
    """Return log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)
