"""Values grouped by arm: where each arm's pairs stand, and which of them is worst."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from surefoot.arrays import Array, IntArray


class Groups:
    """Pairs in a row, arm after arm: arm `a` owns those from `offsets[a]` to `offsets[a + 1]`.

    Attributes:
        offsets: (n_arms + 1,) where each arm's pairs begin.
    """

    offsets: IntArray

    @property
    def n_pairs(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_arms(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def arm_of_pair(self) -> IntArray:
        """(n_pairs,) the arm that owns each pair."""
        return np.repeat(np.arange(self.n_arms), np.diff(self.offsets))

    def pairs_of(self, arm: int) -> slice:
        """Where the pairs of an arm stand."""
        return slice(int(self.offsets[arm]), int(self.offsets[arm + 1]))

    def worst_of(self, values: Array) -> Array:
        """(n_arms,) the smallest of the given (n_pairs,) values within each arm."""
        return np.minimum.reduceat(values, self.offsets[:-1])

    def worst_pair(self, arm: int, values: Array) -> int:
        """The pair at which the given (n_pairs,) values are smallest within the arm."""
        own = self.pairs_of(arm)
        return int(own.start + np.argmin(values[own]))

    def worst_pairs_of(self, values: Array) -> IntArray:
        """(n_arms,) the pair at which the given (n_pairs,) values are smallest within each arm."""
        worst = np.repeat(self.worst_of(values), np.diff(self.offsets))
        candidates = np.flatnonzero(values == worst)
        _, first = np.unique(self.arm_of_pair[candidates], return_index=True)
        return candidates[first]
