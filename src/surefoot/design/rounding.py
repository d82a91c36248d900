"""From shares to whole numbers of pulls: efficient rounding, and largest remainders."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError


def round_design(weights: ArrayLike, n: int) -> IntArray:
    """Whole pulls, n in all, that lose least against the shares (Pukelsheim, 2006, section 12.5).

    Each of the l pairs of the support starts with ⌈(n − l/2) w⌉ pulls; then the pair with the
    smallest count/w gains one, or the pair with the largest (count − 1)/w loses one, until the sum
    is n. No other rounding keeps a larger share of the information, min over the support of
    count/(n w), in the worst case; for n ≥ 2 l/ε the loss is at most a factor 1 + ε.

    With fewer pulls than the support has pairs some pair must go without, and no efficiency can be
    promised: the n largest weights get one pull each (the first ones among equals).

    Args:
        weights: (n_pairs,) a design; zeros get no pulls.
        n: the number of pulls.

    Returns:
        (n_pairs,) counts that sum to n.
    """
    shares = _checked(weights)
    if n < 0 or n != int(n):
        raise InputError(
            f"n is {n}, but a number of pulls is needed: give a whole number, 0 or more"
        )
    counts = np.zeros(shares.size, dtype=np.int64)
    support = np.flatnonzero(shares)
    if n <= support.size:
        counts[np.argsort(-shares, kind="stable")[: int(n)]] = 1
    else:
        counts[support] = _apportion(shares[support], int(n))
    return counts


def rounding_minimum(weights: ArrayLike, epsilon: float) -> int:
    """Return the paper's r(ε) = 2‖λ‖₀/ε: with as many pulls, rounding costs at most a factor 1 +
    ε.
    """
    if not epsilon > 0:
        raise InputError(
            f"epsilon is {epsilon}, but a rounding loss above 0 is needed: 0.1 is usual"
        )
    return math.ceil(2 * np.count_nonzero(_checked(weights)) / epsilon - 1e-9)


def by_remainders(exact: Array, n: int) -> IntArray:
    """Whole pulls, n in all, each rounded down but for those with the largest remainders.

    Args:
        exact: (n_pairs,) pulls that sum to n but for rounding.
    """
    counts = np.floor(exact).astype(np.int64)
    left = n - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    return counts


def _apportion(shares: Array, n: int) -> IntArray:
    """Return the apportionment above, for positive shares; the first pairs go first among
    equals.
    """
    counts = np.ceil((n - shares.size / 2) * shares).astype(np.int64)
    missing = n - int(counts.sum())
    if missing > 0:  # the smallest count/share gains one, again and again
        counts = _raised(counts, shares, missing)
    elif missing < 0:  # the largest (count − 1)/share loses one, again and again
        counts = 1 - _raised(1 - counts, shares, -missing)
    return counts


def _raised(numbers: IntArray, shares: Array, times: int) -> IntArray:
    """Return the smallest number/share gains one, that many times."""
    raised = numbers.copy()
    queue = list(zip((numbers / shares).tolist(), range(numbers.size), strict=True))
    heapq.heapify(queue)
    for _ in range(times):
        pair = queue[0][1]
        raised[pair] += 1
        heapq.heapreplace(queue, (float(raised[pair] / shares[pair]), pair))
    return raised


def _checked(weights: ArrayLike) -> Array:
    shares = np.asarray(weights, dtype=np.float64)
    total = float(shares.sum())
    if shares.ndim != 1 or not 0.0 < total < math.inf or shares.min() < 0:
        raise InputError(
            f"weights have shape {shares.shape} and range [{np.min(shares, initial=math.inf)}, "
            f"{np.max(shares, initial=-math.inf)}], but one non-negative number for "
            f"each pair, not all zero, is needed"
        )
    return np.asarray(shares / total)
