"""R-OCBA: a fixed budget, in the manner of Gao, Xiao, Zhou and Chen (2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.peers.fixed_budget import FixedBudget
from surefoot.arrays import Array
from surefoot.statistics import Counts
from surefoot.system.compiled import kernel


@dataclass(eq=False)
class ROcba(FixedBudget):
    """Spend the budget so that the likeliest mistake becomes as unlikely as can be; no certificate.

    A mistake is a rival i that comes out above the best arm b: its worst pair, which stands for all
    of them, above b's pair j, with the rate G_ij = (μ_bj − μ_i)² / (σ²_bj / N_bj + σ²_i / N_i).
    Each pull goes to the pair of comparisons with the smallest rate, to b's side if (N_bj / σ_bj)²
    is below Σ (N_i / σ_i)² over the rivals whose smallest rate is with j, as optimality asks; else
    to the rival's side. How the original spends increments could not be checked.

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
        ahead = np.maximum(means[own][:, None] - means[rivals][None, :], 0.0)
        counts = np.maximum(self.tally.counts, 1e-9).astype(np.float64)
        added = np.zeros(len(counts), dtype=np.int64)
        added[own], added[rivals] = _spent(
            ahead**2, counts[own], counts[rivals], variances[own], variances[rivals], pulls
        )
        return added


@kernel
def _spent(
    squares: Array,
    own_counts: Array,
    rival_counts: Array,
    own_variances: Array,
    rival_variances: Array,
    pulls: int,
) -> tuple[Counts, Counts]:
    """Return where this many pulls go, one after the other: to each pair of the best arm, to each
    rival.

    Args:
        squares: (n_own, n_rivals) squared differences of means.
    """
    n_own, n_rivals = squares.shape
    to_own, to_rivals = np.zeros(n_own, dtype=np.int64), np.zeros(n_rivals, dtype=np.int64)
    own_noise, rival_noise = own_variances / own_counts, rival_variances / rival_counts
    smallest, nearest = np.empty(n_rivals), np.zeros(n_rivals, dtype=np.int64)
    for i in range(n_rivals):
        smallest[i], nearest[i] = _nearest(squares[:, i], own_noise, rival_noise[i])
    for _ in range(pulls):
        rival = np.argmin(smallest)
        own = nearest[rival]
        balance = 0.0
        for i in range(n_rivals):
            if nearest[i] == own:
                balance += rival_counts[i] ** 2 / rival_variances[i]
        if own_counts[own] ** 2 / own_variances[own] < balance:
            own_counts[own] += 1
            to_own[own] += 1
            own_noise[own] = own_variances[own] / own_counts[own]
            changed = np.flatnonzero(nearest == own)  # it is farther now, and nearest to no other
        else:
            rival_counts[rival] += 1
            to_rivals[rival] += 1
            rival_noise[rival] = rival_variances[rival] / rival_counts[rival]
            changed = np.array([rival])
        for k in range(len(changed)):
            i = changed[k]
            smallest[i], nearest[i] = _nearest(squares[:, i], own_noise, rival_noise[i])
    return to_own, to_rivals


@kernel
def _nearest(squares: Array, own_noise: Array, rival_noise: float) -> tuple[float, int]:
    """Return the smallest rate of a rival, and the pair of the best arm that it is of."""
    smallest, nearest = np.inf, 0
    for j in range(len(own_noise)):
        rate = squares[j] / (own_noise[j] + rival_noise)
        if rate < smallest:
            smallest, nearest = rate, j
    return smallest, nearest
