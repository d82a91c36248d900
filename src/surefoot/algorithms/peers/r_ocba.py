"""R-OCBA: a fixed budget, in the manner of Gao, Xiao, Zhou and Chen (2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.peers.fixed_budget import FixedBudget
from surefoot.statistics import Counts


@dataclass(eq=False)
class ROcba(FixedBudget):
    """Spend the budget so that the likeliest mistake becomes as unlikely as can be; no certificate.

    A mistake is a rival i that comes out above the best arm b: its worst pair above b's pair j,
    with the rate G_ij = (μ_bj − μ_i)² / (σ²_bj / N_bj + σ²_i / N_i). Each pull goes to the pair of
    comparisons with the smallest rate, to b's side if (N_bj / σ_bj)² is below Σ (N_i / σ_i)² over
    the rivals whose smallest rate is with j, as optimality asks; else to the rival's side. How the
    original spends increments could not be checked.

    Attributes:
        first_pulls: of every pair.
        increment: pulls from look to look; the means wait for them, the counts do not.
    """

    first_pulls: int = 20
    increment: int = 20
    name: ClassVar[str] = "r-ocba"

    def more(self, pulls: int) -> Counts:
        means, variances = self.averages, self.variances
        worst = self.problem.worst_pairs_of(means)
        own = np.arange(self.problem.n_pairs)[self.problem.pairs_of(self.leader)]
        rivals = np.delete(worst, self.leader)
        squares = (means[own][:, None] - means[rivals][None, :]) ** 2
        squares = np.where(means[own][:, None] > means[rivals][None, :], squares, 0.0)
        counts = np.maximum(self.tally.counts, 1e-9).astype(np.float64)
        added = np.zeros(len(counts), dtype=np.int64)
        for _ in range(pulls):
            noise = variances / counts
            rates = squares / (noise[own][:, None] + noise[rivals][None, :])
            j, i = np.unravel_index(int(np.argmin(rates)), rates.shape)
            strengths = counts**2 / variances
            balance = strengths[rivals[rates.argmin(axis=0) == j]].sum()
            chosen = own[j] if strengths[own[j]] < balance else rivals[i]
            counts[chosen] += 1
            added[chosen] += 1
        return added
