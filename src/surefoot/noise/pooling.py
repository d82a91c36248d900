"""Variances of pairs that lend each other strength."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array

OWN = 8.0  # degrees of freedom that the pooled variance is worth against a pair's own
LEAST = 2.0  # what it is worth at least, however much they differ


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


def worth_of_pooled(scatter: Array, freedom: Array, most: float) -> float:
    """Return the degrees of freedom that the pooled variance is worth, as alike as the pairs' own
    seem.

    If variances differ with a squared coefficient of variation τ², one is known from the others as
    well as by 2 / τ² degrees of freedom of its own. τ² is what the pairs' own variances differ by
    beyond chance, which is 2 over their degrees of freedom.
    """
    seen, total = freedom > 0, float(freedom.sum())
    pooled = float(scatter.sum()) / max(total, 1.0)
    if pooled <= 0.0:
        return OWN
    relative = scatter[seen] / (freedom[seen] * pooled)
    beyond = float((freedom[seen] * (relative - 1) ** 2 - 2).sum()) / total
    return min(max(2 / beyond, LEAST), most) if beyond > 2 / most else most
