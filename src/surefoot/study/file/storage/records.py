"""What a study file holds, as objects: phases, what runs, how many pulls are in which state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import StudyFileError
from surefoot.statistics import Phase
from surefoot.study.input import LARGEST_REWARD


class Ending(NamedTuple):
    """The proof that is stored when a phase is closed.

    Attributes:
        rewards: the digest of its rewards.
        limits: by which its evidence was lowered, as canonical bytes.
        closing: the digest of the chain with it.
    """

    rewards: bytes
    limits: bytes
    closing: bytes


@dataclass(frozen=True, eq=False)
class StoredPhase:
    """A phase as stored, with what is known of its pulls.

    Attributes:
        first_pull: the number of its first pull.
        pairs: (n_pulls,) the pair of each pull, in the order of their numbers.
        rewards: (n_pulls,) as measured; NaN where there is none yet.
        others: (n_pulls,) further outputs of each pull, as canonical text; empty where there are
            none.
        costs: (n_pulls,) of each pull; NaN where none is known. None: none was asked for.
        batches: into how many batches the pulls of each pair are put, in the order of their
            numbers; 0: it has none.
        shared: whether pulls of different pairs share random streams.
        overlaps: how many phases before it were in flight when it was chosen.
        commitment: what it will be used for, as canonical bytes.
        plan, link: digests that were stored before its first reward.
        ending: what was stored when it was closed; None before.
    """

    index: int
    first_pull: int
    pairs: IntArray
    rewards: Array
    others: list[str]
    batches: int = 0
    shared: bool = False
    overlaps: int = 0
    commitment: bytes = b""
    plan: bytes = b""
    link: bytes = b""
    ending: Ending | None = None
    costs: Array | None = None

    def layout(self, n_pairs: int) -> Phase:
        """Return the phase as it was planned."""
        pairs = self.pairs
        if len(pairs) and not 0 <= pairs.min() <= pairs.max() < n_pairs:
            raise StudyFileError(
                f"the study file is damaged: phase {self.index} pulls pairs {pairs.min()} to "
                f"{pairs.max()} of {n_pairs}; restore it from a copy"
            )
        counts = np.bincount(self.pairs, minlength=n_pairs)
        return Phase(self.index, counts, self.batches, self.shared, self.overlaps)

    @property
    def complete(self) -> bool:
        return not np.isnan(self.rewards).any()

    @property
    def usable(self) -> bool:
        """True if every pull has a reward that can be computed with."""
        return bool((np.abs(self.rewards) < LARGEST_REWARD).all())


@dataclass(frozen=True)
class Running:
    """A pull that is being simulated.

    Attributes:
        pull: its number.
        since: when it began, in seconds since 1970.
        worker: who simulates it, if that is known.
    """

    pull: int
    since: float
    worker: str | None


@dataclass(frozen=True)
class PullCounts:
    """The number of pulls in each state.

    Attributes:
        phase: the index of the oldest phase that is not closed, or of the last one; 0 before there
            is one.
        phase_pulls, phase_told: its pulls, and those of them with a reward.
        open_pulls, open_told: the same of all phases that are not closed.
        told, asked, failed: pulls with a reward; handed out to people; given up.
        lost: pulls that ever lost their worker.
        spent: what the pulls with a reward cost, as far as that is known.
    """

    phase: int
    phase_pulls: int
    phase_told: int
    open_pulls: int
    open_told: int
    told: int
    asked: int
    failed: int
    lost: int
    spent: float
