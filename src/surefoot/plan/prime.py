"""PRIME: predictable-rival max-min elimination, the default. docs/prime.md tells its aims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.planner import Past, Planner
from surefoot.algorithms.verdict import StopReason
from surefoot.certify import Boundary, Commitment
from surefoot.doubt import NormalityPenalty
from surefoot.errors import InputError
from surefoot.plan.by_claims import AgainstBaseline, ByMeasure, WithLimits
from surefoot.plan.strategy import Strategy
from surefoot.plan.tuning import Tuning
from surefoot.plan.worst_case import WorstCase
from surefoot.statistics import Outcome


@dataclass(eq=False)
class Prime(Planner):
    """Eliminates an arm once the evidence against its worst case crosses a boundary.

    Before each phase, from past data alone: a leader, shares of pulls that tell it from the
    survivors, and for every pair of the leader the mixture of each survivor's pairs that it should
    beat most clearly. The kernel scores these claims; docs/certificate.md has the proof.

    Other questions have strategies of their own: other measures than the worst case, limits, and a
    baseline that is to be beaten.

    Attributes:
        tuning: the constants that decide its plans.
    """

    tuning: Tuning = Tuning()  # noqa: RUF009 - it never changes
    name: ClassVar[str] = "prime"
    supports: ClassVar[frozenset[str]] = Planner.supports | {"parallel", "cost", "guess"}

    def __post_init__(self) -> None:
        if isinstance(self.tuning, Mapping):  # from a file
            self.tuning = Tuning.given(self.tuning)
        if not isinstance(self.tuning, Tuning):
            raise InputError(
                f"tuning={self.tuning!r:.80} must be a Tuning, like Tuning(growth=1.2)"
            )

    def begin(self) -> None:
        self.strategy = self._strategy()
        super().begin()

    def _strategy(self) -> Strategy:
        """Return the strategy for the question."""
        if self.settings.limits:
            return WithLimits()
        if self.settings.aim == "beat baseline":
            return AgainstBaseline()
        if not self.settings.worst_case:
            return ByMeasure()
        return WorstCase(self.problem, self.settings, self.tuning, self.given_boundary)

    def make_boundary(self) -> Boundary:
        return self.strategy.boundary or super().make_boundary()

    def suspicion(self) -> NormalityPenalty:
        return self.strategy.suspicion

    def propose(self, past: Past) -> Proposal | StopReason | None:
        return self.strategy.propose(past)

    def committed(self, past: Past, commitment: Commitment) -> None:
        self.strategy.committed(past, commitment)

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        self.strategy.learned(past, commitment, outcome)

    def best_guess(self) -> int:
        found = self.strategy.best_guess(self.past)
        return super().best_guess() if found is None else found

    @property
    def exhausted(self) -> bool:
        """The end of all looks; a guess goes on improving all the same."""
        return super().exhausted and self.settings.aim != "guess"
