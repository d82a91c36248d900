"""What shared streams have in common: shifts of whole phases, taken out of the pairs' means.

Under common random numbers the means of a phase all move together, by the average of its streams.
Compared within the phase that cancels; compared with another phase it is the largest part of the
noise. For choices only: a two-way fit of pairs and phases takes it out.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.evidence.batches import batch_means
from surefoot.statistics import Outcome

ROUNDS = 8  # of fitting pairs and phases in turn
LEAST = 0.01  # share of the variance that is never taken to be common


class CommonShifts:
    """Sums of the phases that shared streams, and how much of their noise was common."""

    def __init__(self) -> None:
        self._counts: list[Array] = []
        self._sums: list[Array] = []
        self._squares = np.zeros(2)  # left after the batches' own means, and in all

    def add(self, outcome: Outcome) -> None:
        """Remember a phase with shared streams."""
        self._counts.append(outcome.counts.astype(np.float64))
        self._sums.append(outcome.sums)
        pairs, n_batches = np.flatnonzero(outcome.counts), len(outcome.batch_sums)
        if n_batches < 2 or len(pairs) < 2:
            return
        means = batch_means(outcome, pairs)
        centred = means - means.mean(axis=0)
        own = centred - centred.mean(axis=1, keepdims=True)
        free = len(pairs) / (len(pairs) - 1)
        self._squares += [free * float((own**2).sum()), float((centred**2).sum())]

    @property
    def own_share(self) -> float:
        """The share of the variance that pairs do not have in common."""
        left, all_ = self._squares
        return float(np.clip(left / all_, LEAST, 1.0)) if all_ > 0 else 1.0

    def taken_out(self, counts: Array, sums: Array) -> Array:
        """(n_pairs,) means of all pulls so far, without the shifts of the phases that shared."""
        shared, totals = np.array(self._counts), np.array(self._sums)
        shifts = np.zeros(len(shared))
        pulls = np.maximum(counts, 1)
        means = sums / pulls
        for _ in range(ROUNDS if len(shared) > 1 else 0):
            shifts = (totals - shared * means).sum(axis=1) / shared.sum(axis=1)
            shifts -= np.average(shifts, weights=shared.sum(axis=1))
            means = (sums - shifts @ shared) / pulls
        return np.asarray(means)
