"""From a phase's batches to vectors that are independent from batch to batch.

A phase's pulls of a pair are put into batches by their numbers, before any reward is seen. What
does not fill the batches belongs to none.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.statistics import Outcome


def batch_means(outcome: Outcome, pairs: IntArray) -> Array:
    """(n_batches, n) the mean reward of each batch of these pairs.

    With common random numbers the pairs of a batch are correlated, in whichever way; batches are
    independent of each other, and nothing else counts.
    """
    sums = outcome.batch_sums[:, pairs]
    return np.asarray(sums / (outcome.counts[pairs] // len(sums)))


def spread_means(outcome: Outcome, pairs: IntArray) -> Array:
    """(n_batches, n) U_ib = Ȳ_i + √(m q_i / n_i) (G_ib − Ḡ_i): Scheffé (1943), generalised.

    Ȳ_i is the mean of all n_i pulls of a pair, G_ib that of batch b with q_i of them, Ḡ_i the mean
    over its m batches. If pulls are independent, Cov(U_ib, U_ic) = (m σ_i² / n_i) 1{b = c}: the
    columns carry all pulls, and the rows are as independent as pulls are, whatever the σ_i.
    """
    means, counts = batch_means(outcome, pairs), outcome.counts[pairs]
    within, centre = means.mean(axis=0), outcome.sums[pairs] / counts
    full = len(means) * (counts // len(means)) / counts
    return np.asarray(centre + np.sqrt(full) * (means - within))
