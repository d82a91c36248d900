"""Whether the linear model holds, where noise levels are unknown and differ.

An F test would need the levels. One contrast does not: what the past says of how means stray from
the model is a direction that the model calls zero, and Student's t of batches along it is exact,
whatever the levels.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from surefoot.arrays import Array
from surefoot.evidence.batches import spread_means
from surefoot.fitting import FitTest
from surefoot.statistics import Outcome

MODELLED = 1e-9  # a stray below this share of the means is rounding


def stray_test(rows: Array, past: Array, variances: Array, outcome: Outcome) -> FitTest | None:
    """Test the model in one phase, along the direction in which the past strays from it most.

    Args:
        rows: (n_pairs, dimension) features.
        past: (n_pairs,) mean rewards before the phase; NaN where there are none.
        variances: (n_pairs,) of single pulls, as the past says: they choose the direction.
        outcome: the phase, with its batches.

    Returns:
        The test; None where batches, or pairs beyond the dimension, are too few.
    """
    n_batches = len(outcome.batch_sums)
    used = np.flatnonzero((outcome.counts >= max(n_batches, 2)) & np.isfinite(past))
    if n_batches < 2 or not len(used):
        return None
    contrast = _contrast(rows[used], past[used], outcome.counts[used] / variances[used])
    if contrast is None:
        return None
    values = spread_means(outcome, used) @ contrast
    spread = float(values.std(ddof=1))
    if spread <= MODELLED * float(np.abs(outcome.sums[used] / outcome.counts[used]).max()):
        return None
    t = np.sqrt(n_batches) * float(values.mean()) / spread
    return FitTest(float(special.stdtr(n_batches - 1, -t)), int(outcome.counts.sum()))


def _contrast(rows: Array, past: Array, weights: Array) -> Array | None:
    """(n_used,) weights that the model gives zero, so that past means strayed upwards along them;
    None if they did not stray.
    """
    root = np.sqrt(weights)
    design, target = rows * root[:, None], past * root
    solution, *_ = np.linalg.lstsq(design, target, rcond=None)
    strayed = target - design @ solution
    size = float(np.linalg.norm(strayed))
    if size <= MODELLED * float(np.linalg.norm(target)):
        return None
    return np.asarray(root * strayed / size)
