"""Batches for phases that trust a model: how many, and what that costs in pulls."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.course import Layout
from surefoot.arrays import Array
from surefoot.statistics import Counts

CHOICES = np.array([5, 6, 7, 8, 10, 12, 15, 20, 25, 30])
LOST = 0.9  # share of the information lost to m batches: this over m + 1
NEEDED = 0.004  # share of the largest weight below which a pair does without batches


class Batching:
    """Every pair that a fit uses needs as many pulls as there are batches."""

    def __init__(self, rows: Array, weights: Array) -> None:
        """Take (n_pairs, dimension) rows, and (n_pairs,) what a design wants of each pair."""
        self._rows, self._wanted = rows, weights > NEEDED * weights.max()

    def layout(self, counts: Counts, remaining: float) -> Layout:
        """The counts, raised to the number of batches that costs least in the end."""
        used = self._wanted & (counts > 0)
        if np.linalg.matrix_rank(self._rows[used]) < self._rows.shape[1]:
            used = counts > 0
        raised = [int(np.maximum(m - counts[used], 0).sum()) for m in CHOICES]
        cost = (counts.sum() + np.array(raised)) / (1 - LOST / (CHOICES + 1))
        n_batches = int(CHOICES[np.argmin(cost)])
        raised_counts = np.where(used, np.maximum(counts, n_batches), counts)
        if raised_counts.sum() > remaining:
            return Layout(counts, max(int(counts[used].min()), 2))
        return Layout(raised_counts, n_batches)
