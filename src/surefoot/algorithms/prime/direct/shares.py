"""How a phase's pulls are shared out among the pairs that it compares, compiled.

Comparison k, of pairs i and j with gap g, has after N pulls the signal r = g √N / √(s_i² / λ_i +
s_j² / λ_j), and is settled with probability about Φ((a r − b − c / r) / τ): b is evidence missing
in standard deviations, c evidence missing as a logarithm of wealth. The logarithm of the product
over all comparisons is concave in the shares λ, and the update λ ← λ √(gradient) climbs it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.finishing.kernels import log_normal
from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel

ROUNDS = 60
LEAST = 1e-9


class Comparisons(NamedTuple):
    """What a phase has to settle: one entry per (leader's pair, rival arm).

    Attributes:
        first, second: (n,) which of the pulled pairs are compared.
        gaps: (n,) estimated differences, positive.
        variances: (2, n) of single pulls of the two.
    """

    first: IntArray
    second: IntArray
    gaps: Array
    variances: Array


class Need(NamedTuple):
    """What is missing, at some number of pulls.

    Attributes:
        pulls: N.
        slope: a.
        evidence: (n,) b.
        wealth: (n,) c.
        spreads: (n,) τ.
    """

    pulls: float
    slope: float
    evidence: Array
    wealth: Array
    spreads: Array


class Needs(NamedTuple):
    """What is missing at each of several horizons: as `Need`, with a row for each of them."""

    pulls: Array
    slope: float
    evidence: Array
    wealth: Array
    spreads: Array


@kernel
def first_hope(comparisons: Comparisons, needs: Needs, shares: Array, enough: float) -> int:
    """The first horizon, of several, at which the log-probability that all are settled is enough;
    the one with the largest if none is.
    """
    best, most = 0, -math.inf
    for k in range(len(needs.pulls)):
        need = Need(
            needs.pulls[k], needs.slope, needs.evidence[k], needs.wealth[k], needs.spreads[k]
        )
        chance = log_chance(comparisons, need, shares)
        if chance > most:
            best, most = k, chance
        if chance >= enough:
            break
    return best


@kernel
def log_chance(comparisons: Comparisons, need: Need, shares: Array) -> float:
    """Log-probability that all are settled, as if they were independent."""
    total = 0.0
    for k in range(len(comparisons.gaps)):
        signal = math.sqrt(need.pulls / _variance(comparisons, shares, k)) * comparisons.gaps[k]
        total += log_normal(_score(need, k, signal))
    return total


@kernel
def climb(comparisons: Comparisons, need: Need, shares: Array) -> None:
    """Improve the shares in place."""
    gradient = np.empty(len(shares))
    for _ in range(ROUNDS):
        gradient[:] = 0.0
        for k in range(len(comparisons.gaps)):
            i, j = comparisons.first[k], comparisons.second[k]
            variance = _variance(comparisons, shares, k)
            signal = math.sqrt(need.pulls / variance) * comparisons.gaps[k]
            score = _score(need, k, signal)
            hazard = math.exp(-(score**2) / 2 - 0.5 * math.log(2 * math.pi) - log_normal(score))
            slope = (need.slope + need.wealth[k] / signal**2) / need.spreads[k]
            pull = hazard * slope * signal / (2 * variance)
            gradient[i] += pull * comparisons.variances[0, k] / shares[i] ** 2
            gradient[j] += pull * comparisons.variances[1, k] / shares[j] ** 2
        total = 0.0
        for i in range(len(shares)):
            shares[i] = max(shares[i] * math.sqrt(gradient[i]), LEAST)
            total += shares[i]
        for i in range(len(shares)):
            shares[i] /= total


@kernel
def _variance(comparisons: Comparisons, shares: Array, k: int) -> float:
    """Of an estimated gap, for one pull in all."""
    own = comparisons.variances[0, k] / shares[comparisons.first[k]]
    return float(own + comparisons.variances[1, k] / shares[comparisons.second[k]])


@kernel
def _score(need: Need, k: int, signal: float) -> float:
    missing = need.evidence[k] + need.wealth[k] / signal
    return float((need.slope * signal - missing) / need.spreads[k])
