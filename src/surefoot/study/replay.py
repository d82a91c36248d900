"""A study's state is a function of what is stored: opening one is replaying its outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from surefoot.algorithms import Algorithm, Result, StopReason
from surefoot.algorithms.verdict import PhaseRecord
from surefoot.errors import InputError
from surefoot.statistics import Phase
from surefoot.study.description import Description
from surefoot.study.errors import StudyFileError
from surefoot.study.input import LARGEST_REWARD
from surefoot.study.replicates import Replicates
from surefoot.study.storage import StoredPhase


class Run:
    """The algorithm of a study, fed with its phases; it ends early where rewards repeat each other.

    Attributes:
        algorithm: what plans and concludes.
    """

    def __init__(self, description: Description, algorithm: Algorithm | None) -> None:
        self._description = description
        self.algorithm = description.start(algorithm)
        self._replicates = Replicates(description.problem.n_pairs, description.settings.noise)

    @property
    def history(self) -> list[PhaseRecord]:
        return self.algorithm.history

    @property
    def result(self) -> Result:
        result = self.algorithm.result
        unfounded = result.samples > 0 and result.certified and self._lacks_ground
        if self._repeats_itself or unfounded:
            return replace(result, certified=False, reason=StopReason.IDENTICAL_REPLICATES)
        return result

    def next_phase(self) -> Phase | None:
        """The phase to pull now, or None when the study is over."""
        return None if self._repeats_itself else self.algorithm.next_phase()

    @property
    def _repeats_itself(self) -> bool:
        """Whether the rewards cannot be those of a noisy simulator."""
        return self._description.on_identical == "refuse" and self._replicates.refused

    @property
    def _lacks_ground(self) -> bool:
        refuses = self._description.on_identical == "refuse"
        return refuses and self._replicates.no_ground_for_certificate

    def take(self, stored: StoredPhase) -> None:
        """Learn from a complete phase."""
        self.algorithm.update(self._description.outcome(stored))
        self._replicates.add(stored.pairs, stored.rewards)

    def replay(self, phases: Iterable[StoredPhase]) -> StoredPhase | None:
        """Take the complete phases; gives back the phase that is still open, if there is one."""
        for stored in phases:
            self._refuse_damage(stored)
            self._refuse_another_plan(stored)
            if not stored.complete:
                return stored
            self.take(stored)
        return None

    def _refuse_damage(self, stored: StoredPhase) -> None:
        if (np.abs(stored.rewards) >= LARGEST_REWARD).any():  # not so where there is none (NaN)
            raise StudyFileError(
                f"the study file is damaged: phase {stored.index} has rewards that cannot be "
                "computed with; restore it from a copy"
            )

    def _refuse_another_plan(self, stored: StoredPhase) -> None:
        planned, pulled = self.next_phase(), stored.layout(self._description.problem.n_pairs)
        if planned is None or not _same(planned, pulled):
            raise InputError(
                f"replaying the study, phase {stored.index} comes out otherwise than it was "
                "pulled: another version of surefoot or numpy, or another kind of processor, plans "
                "it differently, or its rewards were changed. Go on where it was begun, with "
                f"{self._description.versions}"
            )


def _same(one: Phase, other: Phase) -> bool:
    """Whether two phases ask for the same pulls, in the same batches and streams."""
    alike = (one.index, one.batches, one.shared) == (other.index, other.batches, other.shared)
    return alike and bool((one.counts == other.counts).all())
