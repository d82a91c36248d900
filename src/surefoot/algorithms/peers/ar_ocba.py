"""AR-OCBA: a fixed budget, in the manner of Wan, Li and Hong (2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import optimize

from surefoot.algorithms.peers.fixed_budget import FixedBudget, topped_up
from surefoot.arrays import Array
from surefoot.statistics import Counts

INSIDE = 1e-3  # how near to an end of the gap the threshold may lie, as a share of it


@dataclass(eq=False)
class ArOcba(FixedBudget):
    """Spend the budget on k + m − 1 pairs: all of the best arm, the worst of each rival; no
    certificate.

    If every pair of the best arm has a mean above some threshold c, and the worst pair of each
    rival one below, the selection is right. The probability that one of these k + m − 1 means is on
    the wrong side adds up to about Σ exp(−N_s (μ_s − c)² / 2σ²_s), which N_s ∝ σ²_s / (μ_s − c)²
    makes small; c is where these numbers are smallest in all. The additive bound is the original's
    idea; its constants could not be checked.

    Attributes:
        first_pulls: of every pair.
        increment: pulls from look to look.
    """

    first_pulls: int = 20
    increment: int = 20
    name: ClassVar[str] = "ar-ocba"

    def more(self, pulls: int) -> Counts:
        means, variances = self.averages, self.variances
        critical = np.delete(self.problem.worst_pairs_of(means), self.leader)
        low = float(means[critical].max())
        own = np.arange(self.problem.n_pairs)[self.problem.pairs_of(self.leader)]
        critical = np.concatenate([own, critical])
        wanted = np.zeros(self.problem.n_pairs)
        wanted[critical] = _shares(
            means[critical], variances[critical], low, float(means[own].min())
        )
        return topped_up(wanted, self.tally.counts, pulls)


def _shares(means: Array, variances: Array, low: float, high: float) -> Array:
    """Return (n,) σ² / (μ − c)² for the c between the ends of the gap at which they sum to the
    least."""
    gap = high - low
    if gap <= 0:
        return variances

    def shares(place: float) -> Array:
        return np.asarray(variances / (means - low - place * gap) ** 2)

    found = optimize.minimize_scalar(
        lambda place: float(np.log(shares(place).sum())),
        bounds=(INSIDE, 1 - INSIDE),
        method="bounded",
    )
    return shares(float(found.x))
