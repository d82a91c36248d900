"""The interface of PRIME's strategies: each chooses phases for one kind of question."""

from __future__ import annotations

from abc import ABC, abstractmethod

from surefoot.algorithms.base import Proposal
from surefoot.algorithms.planner import Past
from surefoot.algorithms.verdict import StopReason
from surefoot.certify import Boundary, Commitment
from surefoot.doubt import NormalityPenalty
from surefoot.statistics import Outcome


class Strategy(ABC):
    """A way to choose phases. The defaults are those of every planner.

    Attributes:
        boundary: on whose grid clocks go on; None: the usual one.
        suspicion: penalties for non-normal rewards.
    """

    boundary: Boundary | None = None
    suspicion: NormalityPenalty = NormalityPenalty()

    @abstractmethod
    def propose(self, past: Past) -> Proposal | StopReason | None:
        """Return the next phase, or the reason to stop; None: to wait for the next outcome."""

    def committed(self, past: Past, commitment: Commitment) -> None:  # noqa: B027
        """Take note of a phase that is to be pulled now, proposed by this strategy or recalled."""

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:  # noqa: B027
        """Take note of an outcome; the past holds it already."""

    def best_guess(self, past: Past) -> int | None:
        """Return the arm that seems best; None: the survivor of best estimated value."""
        return None
