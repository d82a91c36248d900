"""Values in groups: where each arm's pairs stand, and which of them is worst.

Values stand in a row, group after group; group g owns those from `offsets[g]` to `offsets[g + 1]`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from surefoot.arrays import Array, IntArray


def smallest_of(values: Array, offsets: IntArray, axis: int = -1) -> Array:
    """The smallest value of each group, along one axis: n values become n_groups."""
    return np.asarray(np.minimum.reduceat(values, offsets[:-1], axis=axis))


def largest_of(values: Array, offsets: IntArray, axis: int = -1) -> Array:
    """The largest value of each group, along one axis: n values become n_groups."""
    return np.asarray(np.maximum.reduceat(values, offsets[:-1], axis=axis))


def places_of_smallest(values: Array, offsets: IntArray) -> IntArray:
    """(n_groups,) where the smallest of (n,) values stands in each group: the first of equals.

    A group in which nothing is smallest, because a value is not a number, gives its first place.
    """
    smallest = np.repeat(smallest_of(values, offsets), np.diff(offsets))
    places = np.where(values == smallest, np.arange(len(values)), len(values))
    first = np.minimum.reduceat(places, offsets[:-1])
    return np.where(first < len(values), first, offsets[:-1])


def members_of(groups: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """The places of all members of these groups, and (n + 1,) where each group begins in them."""
    begins = offsets[groups]
    sizes = offsets[groups + 1] - begins
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], sizes), starts


class Groups:
    """Pairs in groups, one for each arm.

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
        """(…, n_arms) the smallest of the given (…, n_pairs) values within each arm."""
        return smallest_of(values, self.offsets)

    def worst_pair(self, arm: int, values: Array) -> int:
        """The pair at which the given (n_pairs,) values are smallest within the arm."""
        own = self.pairs_of(arm)
        return int(own.start + np.argmin(values[own]))

    def worst_pairs_of(self, values: Array) -> IntArray:
        """(n_arms,) the pair at which the given (n_pairs,) values are smallest within each arm."""
        return places_of_smallest(values, self.offsets)
