"""Variances of pairs that lend each other strength."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array

OWN = 8.0  # degrees of freedom that the pooled variance is worth against a pair's own


def drawn_together(scatter: Array, freedom: Array, own: float) -> Array:
    """(n_pairs,) variances of single pulls, each pair's own drawn towards the pooled one.

    Args:
        scatter: (n_pairs,) squared deviations from the pairs' means.
        freedom: (n_pairs,) their degrees of freedom.
        own: how many degrees of freedom the pooled variance is worth; ∞: it is the only one.
    """
    pooled = float(scatter.sum()) / max(float(freedom.sum()), 1.0)
    if own == np.inf:
        return np.full(len(scatter), max(pooled, 1e-300))
    return np.asarray(np.maximum((scatter + own * pooled) / (freedom + own), 1e-300))
