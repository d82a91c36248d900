"""A phase's direct comparisons: the leader's pairs against one pair of every rival arm.

They are fixed before the phase. If x is the best arm, all its pairs are at least as good as the
true worst pair of the leader; so whichever pair of x was chosen, that difference has no positive
mean, and a guide that chooses badly costs pulls, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.batches import batch_means, spread_means
from surefoot.statistics import Counts, Outcome


@dataclass(frozen=True, eq=False)
class Contest:
    """Who is compared with whom.

    Attributes:
        challenger: the arm whose pairs should win.
        places: (n_own,) which of the challenger's pairs are compared.
        own: (n_own,) these pairs' numbers.
        arms: (n_tested,) the arms under test.
        rivals: (n_tested,) the pair of each that is compared.
    """

    challenger: int
    places: IntArray
    own: IntArray
    arms: IntArray
    rivals: IntArray

    @property
    def pairs(self) -> IntArray:
        """(n_own + n_tested,) all pairs that have to be pulled."""
        return np.concatenate([self.own, self.rivals])

    @property
    def columns(self) -> IntArray:
        """(n_tested,) what differences are told apart by: the rival pairs."""
        return self.rivals

    def across(self, values: Array) -> Array:
        """(n_own, n_tested) sums over the two pairs of each comparison of (n_pairs,) values."""
        return np.asarray(values[self.own][:, None] + values[self.rivals][None, :])

    def gaps(self, means: Array) -> Array:
        """(n_own, n_tested) differences of (n_pairs,) means."""
        return np.asarray(means[self.own][:, None] - means[self.rivals][None, :])

    def values(self, outcome: Outcome, *, whole: bool) -> Array:
        """(n_batches, n_own, n_tested) what each batch says of every difference.

        Args:
            whole: whether only pulls in batches count, as they must if streams are shared.
        """
        means = (batch_means if whole else spread_means)(outcome, self.pairs)
        n_own = len(self.own)
        return np.asarray(means[:, :n_own, None] - means[:, None, n_own:])

    def layout(self, counts: Counts, n_batches: int) -> Array:
        """(n_own, n_tested) factors by which counts make the variances of batches differ."""
        inverse = np.zeros(len(counts))
        inverse[self.pairs] = n_batches / counts[self.pairs] / 2
        return self.across(inverse)

    def leans(self, counts: Counts) -> Array:
        """(n_own, n_tested) the own pair's part of those factors, in halves: 1 if both pairs have
        as many pulls.
        """
        own, rivals = 1 / counts[self.own][:, None], 1 / counts[self.rivals]
        return np.asarray(2 * own / (own + rivals))
