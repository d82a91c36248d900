"""Equal allocation of a fixed budget: the baseline of all baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms.peers.fixed_budget import FixedBudget, spread_evenly
from surefoot.statistics import MOST_PULLS, Counts


@dataclass(eq=False)
class Equal(FixedBudget):
    """Spend the budget equally on all pairs; no certificate.

    Attributes:
        first_pulls: of every pair, before the rest is spent.
        increment: pulls from look to look.
    """

    first_pulls: int = 20
    increment: int = MOST_PULLS
    name: ClassVar[str] = "equal"

    def more(self, pulls: int) -> Counts:
        counts = self.tally.counts
        return spread_evenly(len(counts), int(counts.sum()) + pulls) - counts
