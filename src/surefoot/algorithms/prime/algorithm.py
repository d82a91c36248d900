"""PRIME: predictable-rival max-min elimination, the default. The proof is in docs/prime.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.prime.course import Course
from surefoot.algorithms.prime.direct import direct_course
from surefoot.algorithms.prime.misfit import MisfitCourse
from surefoot.algorithms.prime.modelled import ModelledCourse
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.reasons import StopReason
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class Prime(Algorithm):
    """Eliminates an arm once the evidence against its worst case crosses a boundary.

    Before each phase, from past data alone: a leader, a design that tells it from the survivors,
    and for every pair of the leader the point of each survivor that it should beat most clearly.
    After the phase, one normal statistic for each of those comparisons joins a walk per arm. For
    the best arm that walk is dominated by one with known variances and no drift, so it crosses the
    boundary with probability at most delta, whatever was chosen.

    Attributes:
        tuning: the constants that decide its plans; a study file holds them.
    """

    tuning: Tuning = Tuning()  # noqa: RUF009 - it never changes
    name: ClassVar[str] = "prime"
    needs_scale: ClassVar[bool] = False
    has_paper_policy: ClassVar[bool] = False
    supports_tolerance: ClassVar[bool] = True
    supports_misfit: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False
    can_guess: ClassVar[bool] = True
    keeps_workers_busy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.tuning, Mapping):  # from a file
            self.tuning = Tuning.given(self.tuning)
        if not isinstance(self.tuning, Tuning):
            raise InputError(
                f"tuning={self.tuning!r:.80} must be a Tuning, like Tuning(growth=1.2)"
            )

    def begin(self) -> None:
        self.course = self._course()

    def next_counts(self) -> Counts | StopReason:
        if reason := self._finished():
            return reason
        layout = self.course.next(self.tally, self.remaining)
        if layout is None:
            return StopReason.BUDGET
        self.batches, self.shared = layout.batches, layout.shared
        return layout.counts

    def learn(self, outcome: Outcome) -> None:
        assert self.pending is not None
        self.course.learn(self.tally, self.pending, outcome)
        elimination = self.course.elimination
        self.survivors = elimination.survivors
        self.evidence, self.boundary = elimination.evidence, elimination.boundary
        self.leader = int(self.course.order[0]) if len(self.course.order) else self.leader

    @property
    def rivals(self) -> NDArray[np.bool_]:
        """Survivors that may be better than the leader by more than the tolerance."""
        has_begun = hasattr(self, "course")
        return self.course.elimination.rivals(self.leader) if has_begun else super().rivals

    @property
    def weakest_evidence(self) -> float:
        rivals = self.rivals
        held = self.course.elimination.evidence_for(self.leader) if rivals.any() else None
        return 0.0 if held is None else max(float(held[rivals].min()), 0.0)

    @property
    def attained_confidence(self) -> float:
        return self.confidence_later()

    @property
    def confidence_later(self) -> Callable[[], float]:
        if not hasattr(self, "course"):  # a single arm: nothing to be unsure about
            return lambda: 1.0
        return self.course.elimination.confidence(self.leader, self.settings.delta)

    @property
    def skewness(self) -> float | None:
        return self.course.skewness(self.leader) if hasattr(self, "course") else None

    def _course(self) -> Course:
        if self.settings.trust == "pairs":
            return direct_course(self.problem, self.settings, self.tuning)
        if self.settings.misfit > 0:
            return MisfitCourse(self.problem, self.settings, self.tuning)
        return ModelledCourse(self.problem, self.settings, self.tuning)

    def _finished(self) -> StopReason | None:
        alive = int(self.survivors.sum())
        if alive <= 1:
            return StopReason.IDENTIFIED if alive else StopReason.NO_SURVIVOR
        if (winner := self.course.elimination.within_tolerance(self.leader)) is not None:
            self.leader = winner
            return StopReason.WITHIN_TOLERANCE
        if self.course.exhausted:
            return StopReason.LOOKS_SPENT
        if self.remaining >= 1:
            return None
        return StopReason.SPENT if self.settings.objective == "guess" else StopReason.BUDGET
