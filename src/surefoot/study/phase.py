"""The phase that is being pulled: which pulls wait, are handed out, have their reward."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from surefoot.arrays import IntArray
from surefoot.statistics import Phase, places_in_batches
from surefoot.study.file.storage import StoredPhase
from surefoot.study.outputs import Reading


class OpenPhase:
    """Bookkeeping in memory of a stored phase.

    Attributes:
        stored: its pairs and rewards; rewards are filled in as they come.
        missing: pulls without a reward.
    """

    def __init__(self, stored: StoredPhase) -> None:
        self.stored = stored
        missing = np.flatnonzero(np.isnan(stored.rewards))
        self.missing = len(missing)
        self._needed = bytearray(np.isnan(stored.rewards).tobytes())
        self._waiting = deque((stored.first_pull + missing).tolist())
        self._blocks = _blocks(stored) if stored.shared and stored.batches else None

    @property
    def size(self) -> int:
        return len(self.stored.pairs)

    @property
    def told(self) -> int:
        return self.size - self.missing

    @property
    def waiting(self) -> int:
        """Pulls that are not handed out."""
        return len(self._waiting)

    def pair(self, number: int) -> int:
        return int(self.stored.pairs[number - self.stored.first_pull])

    def block(self, number: int) -> int | None:
        """Return the block whose random stream this pull shares; None if it has its own."""
        if self._blocks is None:
            return None
        block = int(self._blocks[number - self.stored.first_pull])
        return block if block >= 0 else None

    def needs(self, number: int) -> bool:
        """Return whether this pull is of this phase and has no reward yet."""
        place = number - self.stored.first_pull
        return 0 <= place < len(self._needed) and self._needed[place] == 1

    def holds(self, number: int) -> bool:
        """Return whether this pull is of this phase."""
        return 0 <= number - self.stored.first_pull < self.size

    def reading(self, number: int) -> Reading:
        place = number - self.stored.first_pull
        return Reading(float(self.stored.rewards[place]), self.stored.others[place])

    def change(self, number: int, reading: Reading) -> None:
        """Replace a reward that is there, and what came with it."""
        place = number - self.stored.first_pull
        self.stored.rewards[place], self.stored.others[place] = reading

    def tell(self, number: int, reading: Reading, cost: float | None = None) -> None:
        """Take note of what came of a pull."""
        self.change(number, reading)
        place = number - self.stored.first_pull
        if self.stored.costs is not None and cost is not None:
            self.stored.costs[place] = cost
        self._needed[place] = 0
        self.missing -= 1

    def take(self, n: int) -> list[int]:
        """Hand out up to n pulls."""
        taken: list[int] = []
        while self._waiting and len(taken) < n:
            number = self._waiting.popleft()
            if self.needs(number):
                taken.append(number)
        return taken

    def give_back(self, numbers: Iterable[int]) -> None:
        """Pulls that were handed out and came to nothing wait again, first in the line."""
        self._waiting.extendleft(sorted((n for n in numbers if self.needs(n)), reverse=True))

    def put_first(self, pairs: set[int]) -> None:
        """Hand out pulls of these pairs before others, both kinds in the order that they have."""
        self._waiting = deque(sorted(self._waiting, key=lambda n: self.pair(n) not in pairs))

    def hold_back(self, numbers: set[int]) -> None:
        """Do not hand these out."""
        self._waiting = deque(number for number in self._waiting if number not in numbers)


def shuffled(phase: Phase, seed: int) -> IntArray:
    """Return the pairs of a new phase in a random order: a drift meets all of them alike."""
    # two numbers: no pull's stream
    source = np.random.SeedSequence(seed, spawn_key=(phase.index, 1))
    grouped: IntArray = np.repeat(np.arange(len(phase.counts)), phase.counts)
    return np.random.default_rng(source).permutation(grouped)


def _blocks(stored: StoredPhase) -> IntArray:
    """(n_pulls,) the number of each pull's block: one for every batch and place within it, the
    same for all pairs; −1 for pulls outside of the batches.

    Numbers begin at the phase's first pull and are fewer than its pulls: no other phase has them.
    """
    counts = np.bincount(stored.pairs)
    batch, place = places_in_batches(stored.pairs, counts, stored.batches)
    widest = int(place.max()) + 1
    return np.where(batch >= 0, stored.first_pull + batch * widest + place, -1)
