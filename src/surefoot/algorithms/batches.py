"""A batch of pulls by a few decisions, each of which knows the pulls decided before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.algorithms.estimates import Estimates
from surefoot.arrays import Array
from surefoot.statistics import Counts

Choice = Callable[[Estimates, int], int]


def decided(
    choose: Choice, estimates: Estimates, scales: Array, pulls: int, decisions: int
) -> Counts:
    """(n_pairs,) counts of a batch. Standard errors shrink as it is decided; means stay.

    Args:
        choose: the pair to pull next, given the estimates and how often it will be pulled.
        scales: (n_pairs,) noise scales.
        pulls: the size of the batch.
        decisions: how many choices share it.
    """
    counts = np.zeros(len(scales), dtype=np.int64)
    parts = min(decisions, pulls)
    for part in range(parts):
        share = pulls * (part + 1) // parts - pulls * part // parts
        chosen = choose(estimates, share)
        counts[chosen] += share
        estimates = estimates.after(estimates.located[chosen] / scales[chosen], share)
    return counts
