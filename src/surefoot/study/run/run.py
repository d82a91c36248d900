"""A study's state is a function of what is stored: opening one is feeding its phases to a kernel.

No planner is asked what it would have done: each closed phase was committed to before its rewards,
the chain shows that nothing was changed since, and the kernel draws its own conclusions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from surefoot.algorithms import Algorithm, Result, StopReason
from surefoot.algorithms.verdict import PhaseRecord
from surefoot.errors import InputError, StudyFileError
from surefoot.statistics import Phase
from surefoot.study.before.replicates import Replicates
from surefoot.study.file.description import Description
from surefoot.study.file.proof.chain import (
    Chain,
    Closing,
    order_of,
    phase_seed,
    plan_of,
    rewards_of,
    sums_of,
)
from surefoot.study.file.proof.check import follow, follow_plan, limits_for, proving
from surefoot.study.file.proof.encoding import (
    commitment_bytes,
    commitment_from,
    layout_bytes,
    limits_bytes,
)
from surefoot.study.file.storage import Ending, StoredPhase
from surefoot.study.input import LARGEST_REWARD
from surefoot.study.phase import OpenPhase, shuffled


class Run:
    """The algorithm of a study, fed with its phases; it ends early where rewards repeat each other.

    Attributes:
        algorithm: what plans and concludes.
        chain: the digests of the phases so far.
        ending: the proof of the last phase that was taken, to be stored with it.
    """

    def __init__(self, description: Description, algorithm: Algorithm | None) -> None:
        self._description = description
        self.algorithm = description.start(algorithm)
        self.chain = Chain(description.head)
        self.ending: Ending | None = None
        self._replicates = Replicates(description.problem.n_pairs, description.settings.noise)

    @property
    def history(self) -> list[PhaseRecord]:
        return self.algorithm.history

    @property
    def result(self) -> Result:
        result = self._description.measured(self.algorithm.result)
        unfounded = result.samples > 0 and result.certified and self._lacks_ground
        if self._repeats_itself or unfounded:
            return replace(result, certified=False, reason=StopReason.IDENTICAL_REPLICATES)
        return result

    def next_phase(self) -> Phase | None:
        """The phase to pull now, or None when the study is over."""
        return None if self._repeats_itself else self.algorithm.next_phase()

    def plan(self, first_pull: int) -> OpenPhase | None:
        """Return the next phase, to be stored before any of its rewards; None if there is none."""
        planned = self.next_phase()
        if planned is None:
            return None
        made = self.algorithm.commitment
        commitment = commitment_bytes(*((made.claims, made.variances) if made else ((), None)))
        layout = layout_bytes(planned.counts, planned.batches, planned.shared)
        plan = plan_of(layout, commitment)
        pairs = shuffled(planned, phase_seed(self._description.head, planned.index, plan))
        return OpenPhase(
            StoredPhase(
                planned.index,
                first_pull,
                pairs,
                np.full(len(pairs), np.nan),
                planned.batches,
                planned.shared,
                commitment,
                plan,
                self.chain.link(plan, order_of(pairs)),
            )
        )

    def seed_of(self, stored: StoredPhase) -> int:
        """Return the number from which the streams of a phase are derived."""
        return phase_seed(self._description.head, stored.index, stored.plan)

    @property
    def _repeats_itself(self) -> bool:
        """Whether the rewards cannot be those of a noisy simulator."""
        return self._description.on_identical == "refuse" and self._replicates.refused

    @property
    def _lacks_ground(self) -> bool:
        refuses = self._description.on_identical == "refuse"
        return refuses and self._replicates.no_ground_for_certificate

    def take(self, stored: StoredPhase) -> None:
        """Learn from the phase that was planned or recalled last, now that it is complete."""
        outcome = self._description.outcome(stored)
        self.algorithm.update(outcome)
        self._replicates.add(stored.pairs, stored.rewards)
        limits = limits_bytes(self.algorithm.limits)
        closing = Closing(rewards_of(stored.rewards), sums_of(outcome), limits)
        self.ending = Ending(closing.rewards, limits, self.chain.close(stored.link, closing))

    def feed(self, phases: Iterable[StoredPhase]) -> StoredPhase | None:
        """Take the closed phases; gives back the phase that is still open, if there is one."""
        for stored in phases:
            self._refuse_damage(stored)
            if stored.ending is None:
                self._recall_open(stored)
                return stored
            self._take_closed(stored)
        return None

    def _take_closed(self, stored: StoredPhase) -> None:
        sealed = self._description.sealed(stored)
        follow(self.chain, sealed)
        with proving(stored.index):
            claims, variances = commitment_from(sealed.commitment)
            self.algorithm.recall(sealed.phase, claims, variances)
            self.algorithm.update(sealed.outcome, limits=limits_for(claims, sealed.limits))
        self._replicates.add(stored.pairs, stored.rewards)

    def _recall_open(self, stored: StoredPhase) -> None:
        """Finish a phase as it was committed, whatever would be planned now."""
        phase = stored.layout(self._description.problem.n_pairs)
        kept = stored.plan, stored.link
        follow_plan(self.chain, phase, stored.commitment, order_of(stored.pairs), kept)
        with proving(stored.index):
            self.algorithm.recall(phase, *commitment_from(stored.commitment))

    def _refuse_damage(self, stored: StoredPhase) -> None:
        if (np.abs(stored.rewards) >= LARGEST_REWARD).any():  # not so where there is none (NaN)
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
    """Whether two phases ask for the same pulls, in the same batches and streams."""
    alike = (one.index, one.batches, one.shared) == (other.index, other.batches, other.shared)
    return alike and bool((one.counts == other.counts).all())
