"""Numbers of few digits: what a planner commits to is stored, and need not be known to the bit.

Shares, guesses and limits may be anything, so that a thousandth more or less costs next to nothing;
the kernel scores what was committed, as it was committed.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.certify import Claims, Rows, Stakes, Uses

STEP = 2.0**-10  # of shares
BITS = 7  # of guesses
LIMIT_BITS = 14


def coarse(values: Array) -> Array:
    """Return values of a few significant bits, the nearest."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS))


def coarse_limits(limits: Array) -> Array:
    """Return limits of a few significant bits, none of them higher."""
    mantissa, exponent = np.frexp(limits)
    return np.asarray(np.ldexp(np.floor(np.ldexp(mantissa, LIMIT_BITS)), exponent - LIMIT_BITS))


def coarse_claims(claims: Claims) -> Claims:
    """Return the same claims with coarse shares and guesses."""
    stakes = claims.stakes
    if stakes is not None:
        guesses = coarse(stakes.means), coarse(stakes.doubts), coarse(stakes.variances)
        stakes = Stakes(*guesses, stakes.aim)
    return claims._replace(shares=_coarse_shares(claims.shares), stakes=stakes)


def _coarse_shares(shares: Rows) -> Rows:
    """Round shares; the largest of each row takes what is missing, so that they add up to 1."""
    if not len(shares.values):
        return shares
    n_rows, sizes = len(shares.sizes), shares.sizes
    row = np.repeat(np.arange(n_rows), sizes)
    rounded = STEP * np.rint(shares.values / STEP)
    order = np.lexsort((shares.values, row))
    filled = np.flatnonzero(sizes)
    largest = order[shares.starts[filled + 1] - 1]
    rounded[largest] += (1 - np.bincount(row, rounded, n_rows))[filled]
    kept = rounded > 0
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n_rows))])
    return Rows(starts, shares.columns[kept], rounded[kept])


def coarse_uses(uses: Uses) -> Uses:
    """Return the same uses of a phase by coarse numbers."""
    guessed = None if uses.variances is None else coarse(uses.variances)
    return Uses([coarse_claims(each) for each in uses.claims], guessed)
