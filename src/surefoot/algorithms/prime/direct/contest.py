"""A phase's direct comparisons: the leader's pairs against one pair of every rival arm.

They are fixed before the phase. If x is the best arm, all its pairs are at least as good as the
true worst pair of the leader; so whichever pair of x was chosen, that difference has no positive
mean, and a guide that chooses badly costs pulls, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Rows, Stakes


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

    @classmethod
    def of(cls, claims: Claims, offsets: IntArray) -> Contest:
        """Return who claims compare, each arm by the pair that it is mainly compared by."""
        shares, rivals = claims.shares, offsets[claims.arms].copy()
        row = np.repeat(np.arange(len(shares.sizes)), shares.sizes) % max(len(claims.arms), 1)
        order = np.argsort(shares.values, kind="stable")
        rivals[row[order]] = shares.columns[order]
        first = int(offsets[claims.challenger])
        return cls(claims.challenger, claims.points - first, claims.points, claims.arms, rivals)

    def claims(self, clocks: IntArray, stakes: Stakes | None) -> Claims:
        """Claim that the own pairs win, with clocks that go on to these points."""
        n = len(self.rivals)
        shares = Rows(np.arange(n + 1), self.rivals, np.ones(n))
        every = np.array(np.inf)
        return Claims(self.challenger, self.own, self.arms, clocks, shares, every, stakes)

    @property
    def pairs(self) -> IntArray:
        """(n_own + n_tested,) all pairs that have to be pulled."""
        return np.concatenate([self.own, self.rivals])

    def across(self, values: Array) -> Array:
        """(n_own, n_tested) sums over the two pairs of each comparison of (n_pairs,) values."""
        return np.asarray(values[self.own][:, None] + values[self.rivals][None, :])

    def gaps(self, means: Array) -> Array:
        """(n_own, n_tested) differences of (n_pairs,) means."""
        return np.asarray(means[self.own][:, None] - means[self.rivals][None, :])
