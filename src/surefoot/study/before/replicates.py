"""Whether a simulator repeats itself: pulls of one pair must differ, or say nothing new.

A fixed seed gives every pull of a pair the same reward to the last bit, and then each repetition
counts as evidence that it is not. Rewards alone cannot tell a fixed seed from a simulator without
noise, so both are stopped, and the second can be declared.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.noise import Noise

REPEATS = 5  # repetitions without any difference, where each should differ
REPEATS_AT_THE_END = 2  # the same for a certificate: rounded rewards may be equal once
REPEATS_OF_COUNTS = 20  # where rewards are whole numbers, and may well be equal by chance


class Replicates:
    """Follows the rewards of a study, phase by phase.

    Whole numbers may be equal by chance: where the noise allows for them, they must repeat more
    often, and successes and failures, two values at most, may repeat for ever.
    """

    def __init__(self, n_pairs: int, noise: Noise) -> None:
        self._first: Array = np.full(n_pairs, np.nan)
        self._repeats, self._differ = 0, False
        self._may_be_counts = not noise.continuous
        self._values: set[float] = set()  # no more than three of them

    def add(self, pairs: IntArray, rewards: Array) -> None:
        """Take the rewards of a phase."""
        seen, places = np.unique(pairs, return_index=True)
        new = np.isnan(self._first[seen])
        self._first[seen[new]] = rewards[places[new]]
        self._repeats += len(pairs) - int(new.sum())
        self._differ = self._differ or bool((rewards != self._first[pairs]).any())
        if not self._differ and len(self._values) < 3:
            self._values.update(np.unique(rewards)[:3].tolist())
        if self._may_be_counts and not self._differ:
            self._may_be_counts = bool((rewards == np.round(rewards)).all())

    @property
    def refused(self) -> bool:
        """True if all pulls of a pair gave one reward, for every pair, too often for chance."""
        return self._all_equal(REPEATS)

    @property
    def no_ground_for_certificate(self) -> bool:
        """True if they did so too often to certify anything by them."""
        return self._all_equal(REPEATS_AT_THE_END)

    def _all_equal(self, repeats: int) -> bool:
        if self._differ:
            return False
        if self._may_be_counts:
            return len(self._values) > 2 and self._repeats >= REPEATS_OF_COUNTS
        return self._repeats >= repeats
