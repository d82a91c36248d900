"""Confidence bounds for means of rewards in [0, 1], and the thresholds that they are solved for."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import special

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.statistics import Counts
from surefoot.system.compiled import kernel

Threshold = Literal["proved", "heuristic"]
NEWTON = 7  # steps, each of which about doubles the digits
TINY = 1e-300  # stands for 0 where it is divided by, or its logarithm is multiplied by 0
EXPONENT = 1.1  # of the pulls of a pair in the proved threshold
ZETA = float(special.zeta(EXPONENT))  # the sum of 1 / n^EXPONENT


def kl(p: Array, q: Array) -> Array:
    """Kullback-Leibler divergence of coins with these probabilities of success."""
    return np.asarray(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


def hoeffding_bounds(means: Array, levels: Array) -> tuple[Array, Array]:
    """Lower and upper bounds q with 2 (mean − q)² = level."""
    widths = np.sqrt(levels / 2)
    return means - widths, means + widths


def kl_bounds(means: Array, levels: Array) -> tuple[Array, Array]:
    """Lower and upper bounds q with kl(mean, q) = level, to rounding."""
    return 1 - _upper(1 - means, levels), _upper(means, levels)


@kernel
def _upper(means: Array, levels: Array) -> Array:
    """Return the larger root of each, by Newton's method from above: kl is convex, so no step goes
    too far.
    """
    found = np.empty(len(means))
    for i in range(len(means)):
        p, level = min(max(means[i], 0.0), 1.0), levels[i]
        entropy = -p * math.log(max(p, TINY)) - (1 - p) * math.log(max(1 - p, TINY))
        q = p + math.sqrt(level / 2)
        q = min(q, -math.expm1(-min((level + entropy) / max(1 - p, TINY), 700.0)))
        for _ in range(NEWTON):
            q = min(max(q, 1e-15), 1 - 1e-15)
            excess = -entropy - p * math.log(q) - (1 - p) * math.log1p(-q) - level
            slope = max((q - p) / (q * (1 - q)), TINY)
            q = max(q - max(excess, 0.0) / slope, p)
        found[i] = q
    return found


def threshold(choice: Any) -> Threshold:
    """Return the choice, if it is one."""
    if choice not in ("proved", "heuristic"):
        raise InputError(f'threshold={choice!r:.60} is not known: choose "proved" or "heuristic"')
    return "proved" if choice == "proved" else "heuristic"


def heuristic_level(pulls: float, delta: float) -> float:
    """Return log((log t + 1) / δ) after t pulls: the level in the literature's experiments, without
    a proof.
    """
    return math.log((math.log(max(pulls, 1)) + 1) / delta)


def proved_levels(counts: Counts, delta: float) -> Array:
    """Return (n_pairs,) log(2 K ζ(1.1) n^1.1 / δ) after n pulls of one of K pairs: Chernoff's bound
    on both sides of every pair, summed over all n, is at most δ.
    """
    constant = math.log(2 * len(counts) * ZETA / delta)
    return np.asarray(constant + EXPONENT * np.log(np.maximum(counts, 1)))
