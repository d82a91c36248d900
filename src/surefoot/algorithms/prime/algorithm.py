"""PRIME: predictable-rival max-min elimination, the default. docs/prime.md tells its aims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms import measured
from surefoot.algorithms.planner import Past, Planner, Proposal
from surefoot.algorithms.prime.course import Course
from surefoot.algorithms.prime.direct import direct_course
from surefoot.algorithms.prime.misfit import MisfitCourse
from surefoot.algorithms.prime.modelled import ModelledCourse
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.reasons import StopReason
from surefoot.certify import Boundary, Commitment
from surefoot.doubt import Suspicion
from surefoot.errors import InputError
from surefoot.statistics import Outcome


@dataclass(eq=False)
class Prime(Planner):
    """Eliminates an arm once the evidence against its worst case crosses a boundary.

    Before each phase, from past data alone: a leader, a design that tells it from the survivors,
    and for every pair of the leader the point of each survivor that it should beat most clearly.
    The kernel scores these claims; docs/certificate.md has the proof.

    Attributes:
        tuning: the constants that decide its plans.
    """

    tuning: Tuning = Tuning()  # noqa: RUF009 - it never changes
    name: ClassVar[str] = "prime"
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
        if self.settings.worst_case:
            self.course = self._course()
        super().begin()

    def make_boundary(self) -> Boundary:
        return self.course.boundary if self.settings.worst_case else super().make_boundary()

    def suspicion(self) -> Suspicion:
        return self.course.tuning.suspicion if self.settings.worst_case else super().suspicion()

    def propose(self, past: Past) -> Proposal | StopReason | None:
        return self.course.propose(past) if self.settings.worst_case else measured.propose(past)

    def committed(self, past: Past, commitment: Commitment) -> None:
        if self.settings.worst_case:
            self.course.committed(past, commitment)

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        if self.settings.worst_case:
            self.course.learned(past, commitment, outcome)

    def best_guess(self) -> int:
        if not self.settings.worst_case:
            return super().best_guess()
        return int(self.course.order[0]) if len(self.course.order) else self.leader

    @property
    def exhausted(self) -> bool:
        on = self.settings.worst_case and self.course.goes_on
        return super().exhausted and not on

    def _course(self) -> Course:
        asked = self.problem, self.settings, self.tuning, self.given_boundary
        if not self.settings.modelled:
            return direct_course(*asked)
        if self.settings.misfit > 0:
            return MisfitCourse(*asked)
        return ModelledCourse(*asked)
