"""From shares to whole pulls, and to batches."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from surefoot.arrays import Array, IntArray
from surefoot.statistics import Counts

NOTHING = 1e-9  # of the largest singular value: a direction that pairs do not measure
UNBATCHED = 0.004  # share of the largest count below which a pair does without batches
CHECKS = 2  # pulls of a phase that explore at least


def cumulative(shares: Array, pulls: int) -> Counts:
    """(n_pairs,) whole pulls that sum to `pulls`, by rounding the running sum of the shares.

    Neighbours are often nearly alike, and what each of them wants less than a pull of adds up.
    """
    running = np.cumsum(shares)
    rounded = np.floor(running * (pulls / running[-1]) + (0.5 - 1e-9)).astype(np.int64)
    rounded[-1] = pulls
    return np.asarray(np.diff(rounded, prepend=0), dtype=np.int64)


def explored(wanted: Array, past: Counts, pulls: int) -> Counts:
    """(n_pairs,) single pulls that level what past ones fall short of what is wanted in all."""
    short = wanted - past
    falling = np.sort(short)[::-1]
    levels = (np.cumsum(falling) - pulls) / np.arange(1, len(short) + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return cumulative(np.maximum(short - level, 0.0), pulls)


def in_batches(counts: Counts, rows: Array) -> Array:
    """(n_pairs,) whether pairs are pulled enough to be put into batches, in all directions."""
    used = counts > UNBATCHED * counts.max()
    if np.linalg.matrix_rank(rows[used]) < rows.shape[1]:
        used = counts > 0
    return np.asarray(used)


def completing(rows: Array, used: IntArray, others: IntArray) -> IntArray:
    """Return as many other pairs as it takes to measure all directions beside those used."""
    basis, sizes, _ = np.linalg.svd(rows[used].T, full_matrices=False)
    basis = basis[:, sizes > NOTHING * sizes.max(initial=0.0)]
    left = rows[others] - rows[others] @ basis @ basis.T
    _, order = linalg.qr(left.T, mode="r", pivoting=True)
    return np.asarray(others[order[: rows.shape[1] - basis.shape[1]]])
