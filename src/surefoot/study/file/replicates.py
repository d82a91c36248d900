"""The detection of simulators that return identical rewards, as those of a fixed seed do.

A fixed seed gives every pull of a pair one reward, to the last bit, and each repetition would
wrongly count as new evidence. Rewards alone cannot tell a fixed seed from a simulator without
noise, so both are stopped, and the second can be declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from surefoot.algorithms import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.noise import Noise

REPEATS = 5  # repetitions without any difference, where each should differ
REPEATS_AT_THE_END = 2  # repetitions that refuse a certificate: rounded rewards may be equal once
KEPT = 200  # rewards of a pair among which repetitions are looked for
DIGITS = 12  # of a reward that was measured in full; values of fewer may repeat
COARSE = 1000  # parts of a step that a lattice may have: its values may repeat
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
        self._kept: dict[int, Array] = {}
        self._repeated: dict[int, int] = {}  # rewards of each pair that were there before
        self._beside: dict[int, Counter[str]] = {}  # further outputs of each pair

    def add(self, pairs: IntArray, rewards: Array, others: Sequence[str] = ()) -> None:
        """Take the rewards of a phase.

        Args:
            others: the further outputs of each pull, as text: pulls that differ in one of them do
                not repeat each other.
        """
        if any(others):
            self._keep(*self._repeating(pairs, rewards, others))
        else:
            self._keep(pairs, rewards)
        seen, places = np.unique(pairs, return_index=True)
        new = np.isnan(self._first[seen])
        self._first[seen[new]] = rewards[places[new]]
        self._repeats += len(pairs) - int(new.sum())
        self._differ = self._differ or bool((rewards != self._first[pairs]).any())
        if not self._differ and len(self._values) < 3:
            self._values.update(np.unique(rewards)[:3].tolist())
        if self._may_be_counts and not self._differ:
            self._may_be_counts = bool((rewards == np.round(rewards)).all())

    def _repeating(
        self, pairs: IntArray, rewards: Array, others: Sequence[str]
    ) -> tuple[IntArray, Array]:
        """Return the pulls whose further outputs were there before, in their own pair, each beside
        the one that was first.
        """
        copies = np.zeros(len(pairs), dtype=np.int64)
        for place, (pair, text) in enumerate(zip(pairs.tolist(), others, strict=True)):
            seen = self._beside.setdefault(pair, Counter())
            if text not in seen:
                self._differ = self._differ or bool(seen)
                if len(seen) < KEPT:
                    seen[text] = 1
            else:
                copies[place] = 2 if seen[text] == 1 else 1
                seen[text] += 1
        return np.repeat(pairs, copies), np.repeat(rewards, copies)

    def refusal(self, certified: bool = False) -> StopReason | None:
        """Return why these rewards are no sample of a noisy simulator; None if they may be.

        Args:
            certified: whether a certificate would rest on them, which takes less to be refused.
        """
        if self._all_equal(REPEATS_AT_THE_END if certified else REPEATS):
            return StopReason.IDENTICAL_REPLICATES
        return StopReason.FEW_STREAMS if self.repeated >= REPEATS else None

    @property
    def repeated(self) -> int:
        """Number of rewards of full precision that were there before, in their own pair."""
        return sum(self._repeated.values())

    def _keep(self, pairs: IntArray, rewards: Array) -> None:
        """Keep the first rewards of each pair."""
        order = np.argsort(pairs, kind="stable")
        ends = np.flatnonzero(np.diff(pairs[order], append=-1)) + 1
        for block in np.split(order, ends[:-1]) if len(order) else ():
            pair = int(pairs[block[0]])
            before = self._kept.get(pair, np.zeros(0))
            if len(before) < KEPT:
                self._kept[pair] = np.concatenate([before, rewards[block]])[:KEPT]
                self._repeated[pair] = _repeats(self._kept[pair])

    def _all_equal(self, repeats: int) -> bool:
        if self._differ:
            return False
        if self._may_be_counts:
            return len(self._values) > 2 and self._repeats >= REPEATS_OF_COUNTS
        return self._repeats >= repeats


def _repeats(rewards: Array) -> int:
    """Count duplicates among rewards of full precision; 0 on a lattice or for short decimals."""
    values, counts = np.unique(rewards, return_counts=True)
    several = values[counts > 1]
    if len(several) < 3 or any(float(f"{value:.{DIGITS - 1}g}") == value for value in several):
        return 0
    shares = (several[2:] - several[0]) / (several[1] - several[0])
    steps = [abs(share - _nearest(share)) <= 1e-9 * max(abs(share), 1) for share in shares.tolist()]
    return 0 if all(steps) else int((counts - 1).sum())


def _nearest(share: float) -> float:
    return float(Fraction(share).limit_denominator(COARSE))
