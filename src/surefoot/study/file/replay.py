"""A study's state is a function of its file: opening one is feeding its phases to a kernel.

No planner is asked: each closed phase was committed to before its rewards, the chain shows that it
is unchanged since, and the kernel draws its own conclusions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from surefoot.algorithms import Algorithm, Result, StopReason
from surefoot.algorithms.verdict import PhaseRecord
from surefoot.arrays import IntArray
from surefoot.errors import InputError, StudyFileError
from surefoot.statistics import Phase, places_in_batches
from surefoot.study.file.chain import (
    Chain,
    Closing,
    close,
    follow_plan,
    limits_for,
    order_of,
    phase_seed,
    plan_of,
    proving,
    rewards_of,
    sums_of,
)
from surefoot.study.file.description import Description
from surefoot.study.file.encoding import (
    commitment_bytes,
    commitment_from,
    layout_bytes,
    limits_bytes,
)
from surefoot.study.file.replicates import Replicates
from surefoot.study.file.storage import Ending, StoredPhase
from surefoot.study.input import LARGEST_REWARD, Reading


class Run:
    """The algorithm of a study, fed with its phases; it ends early where rewards repeat each other.

    Attributes:
        algorithm: plans and concludes.
        chain: the digests of the phases so far.
        ending: the proof of the last phase that was taken, to be stored with it.

    The order of steps is that of `Algorithm`, not that in which rewards come: a phase is
    planned once all phases are taken but the k − 1 before it, and before the next one is.
    """

    def __init__(self, description: Description, algorithm: Algorithm | None) -> None:
        self._description = description
        self.algorithm = description.start(algorithm)
        self.chain = Chain(description.head)
        self.ending: Ending | None = None
        self._replicates = Replicates(description.problem.n_pairs, description.settings.noise)
        self._recalled: deque[StoredPhase] = deque()

    @property
    def history(self) -> list[PhaseRecord]:
        return self.algorithm.history

    @property
    def result(self) -> Result:
        result = self._description.measured(self.algorithm.result)
        refusal = self._refusal(certified=result.samples > 0 and result.certified)
        return result if refusal is None else replace(result, certified=False, reason=refusal)

    def next_phase(self) -> Phase | None:
        """Return the phase whose rewards are needed next, or None when the study is over."""
        return None if self._refusal() else self.algorithm.next_phase()

    def plan(self, index: int, first_pull: int) -> OpenPhase | None:
        """Return a phase, to be stored before any of its rewards; None if it cannot be known yet,
        or if the study is over.
        """
        if self.next_phase() is None:
            return None
        planned = next((each for each in self.algorithm.flying if each.index == index), None)
        if planned is None:
            return None
        made = self.algorithm.commitment_of(planned)
        commitment = commitment_bytes(*(made.uses if made else ((), None)))
        plan = plan_of(layout_bytes(planned), commitment)
        pairs = _shuffled(planned, phase_seed(self._description.head, index, plan))
        return OpenPhase(
            StoredPhase(
                planned.index,
                first_pull,
                pairs,
                np.full(len(pairs), np.nan),
                [""] * len(pairs),
                planned.batches,
                planned.shared,
                planned.overlaps,
                commitment,
                plan,
                self.chain.open(planned, plan, order_of(pairs)),
                costs=np.full(len(pairs), np.nan),
            )
        )

    def seed_of(self, stored: StoredPhase) -> int:
        """Return the number from which the streams of a phase are derived."""
        return phase_seed(self._description.head, stored.index, stored.plan)

    def _refusal(self, certified: bool = False) -> StopReason | None:
        """Return why the rewards cannot be those of a noisy simulator; None if they can."""
        if self._description.on_identical != "refuse":
            return None
        return self._replicates.refusal(certified)

    def take(self, stored: StoredPhase, origins: bytes = b"") -> None:
        """Learn from the oldest open phase, now that it is complete.

        Args:
            origins: of its rewards, as canonical bytes.
        """
        outcome = self._description.outcome(stored)
        self.algorithm.update(outcome)
        self._replicates.add(stored.pairs, stored.rewards, stored.others)
        limits = limits_bytes(self.algorithm.limits)
        rewards = rewards_of(stored.rewards, stored.others)
        closing = Closing(rewards, sums_of(outcome), limits, origins)
        self.ending = Ending(closing.rewards, limits, self.chain.close(closing))

    def feed(self, phases: Iterable[StoredPhase]) -> list[StoredPhase]:
        """Recall stored phases and take the closed ones, in the order in which that was done first.

        Returns:
            The phases that are still open: they are finished as they were committed.
        """
        for stored in phases:
            self._refuse_damage(stored)
            places = [each.index for each in self._recalled]
            if stored.index in places:  # read again, with more rewards
                self._recalled[places.index(stored.index)] = stored
                continue
            while self._recalled and len(self.history) < stored.index - stored.overlaps:
                self._replay()
            self._recall(stored)
        while self._recalled and self._recalled[0].ending is not None:
            self._replay()
        return list(self._recalled)

    def _recall(self, stored: StoredPhase) -> None:
        """Take up a phase as it was committed, without planning."""
        phase = stored.layout(self._description.problem.n_pairs)
        kept = stored.plan, stored.link
        follow_plan(self.chain, phase, stored.commitment, order_of(stored.pairs), kept)
        with proving(stored.index):
            self.algorithm.recall(phase, *commitment_from(stored.commitment))
        self._recalled.append(stored)

    def _replay(self) -> None:
        """Take the oldest phase that was recalled; it is closed."""
        stored = self._recalled.popleft()
        sealed = self._description.sealed(stored)
        close(self.chain, sealed)
        with proving(stored.index):
            claims, _, others = commitment_from(sealed.commitment)
            every = [each for uses in others for each in uses.claims]
            limits = limits_for([*every, *claims], sealed.limits)
            self.algorithm.replay(sealed.outcome, limits)
        self._replicates.add(stored.pairs, stored.rewards, stored.others)

    def _refuse_damage(self, stored: StoredPhase) -> None:
        if (np.abs(stored.rewards) >= LARGEST_REWARD).any():  # False for missing ones (NaN)
            raise StudyFileError(
                f"the study file is damaged: phase {stored.index} has rewards that cannot be "
                "computed with; restore it from a copy"
            )


def refuse_another_plan(
    description: Description, algorithm: Algorithm | None, phases: Iterable[StoredPhase]
) -> None:
    """Refuse a description with which an algorithm without a kernel would have pulled otherwise."""
    run = Run(description, algorithm)
    for stored in phases:
        planned, pulled = run.next_phase(), stored.layout(description.problem.n_pairs)
        if planned is None or not _same(planned, pulled):
            raise InputError(f"phase {stored.index} would have been another")
        run.feed([stored])


def _same(one: Phase, other: Phase) -> bool:
    """Return whether two phases ask for equal pulls, in equal batches and streams."""
    alike = (one.index, one.batches, one.shared) == (other.index, other.batches, other.shared)
    return alike and bool((one.counts == other.counts).all())


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
        """Replace a stored reward, and its further outputs."""
        place = number - self.stored.first_pull
        self.stored.rewards[place], self.stored.others[place] = reading

    def tell(self, number: int, reading: Reading, cost: float | None = None) -> None:
        """Take note of a pull's reward."""
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
        """Let pulls that were handed out and came to nothing wait again, first in the line."""
        self._waiting.extendleft(sorted((n for n in numbers if self.needs(n)), reverse=True))

    def put_first(self, pairs: set[int]) -> None:
        """Hand out pulls of these pairs before others, both kinds in the order that they have."""
        self._waiting = deque(sorted(self._waiting, key=lambda n: self.pair(n) not in pairs))

    def hold_back(self, numbers: set[int]) -> None:
        """Do not hand these out."""
        self._waiting = deque(number for number in self._waiting if number not in numbers)


def _shuffled(phase: Phase, seed: int) -> IntArray:
    """Return the pairs of a new phase in a random order: a drift meets all of them alike."""
    # two numbers: no pull's stream
    source = np.random.SeedSequence(seed, spawn_key=(phase.index, 1))
    grouped: IntArray = np.repeat(np.arange(len(phase.counts)), phase.counts)
    return np.random.default_rng(source).permutation(grouped)


def _blocks(stored: StoredPhase) -> IntArray:
    """Return (n_pulls,) the number of each pull's block: one for every batch and place within it,
    the same for all pairs; −1 for pulls outside of the batches.

    Numbers begin at the phase's first pull and are fewer than its pulls: no other phase has them.
    """
    counts = np.bincount(stored.pairs)
    batch, place = places_in_batches(stored.pairs, counts, stored.batches)
    widest = int(place.max()) + 1
    return np.where(batch >= 0, stored.first_pull + batch * widest + place, -1)
