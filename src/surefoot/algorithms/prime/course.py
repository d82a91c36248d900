"""The contract of a course: how PRIME's run goes on, with a model or without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.reasons import StopReason
from surefoot.arrays import IntArray
from surefoot.certify import Boundary, Commitment
from surefoot.statistics import Counts, Outcome


class Layout(NamedTuple):
    """The pulls of a phase: (n_pairs,) counts, batches, and whether streams are shared."""

    counts: Counts
    batches: int = 0
    shared: bool = False

    @property
    def tested(self) -> Counts:
        """(n_pairs,) the counts of the pairs that are in every batch; 0 for the others."""
        return np.where(self.counts >= max(self.batches, 1), self.counts, 0)


class Course(ABC):
    """Proposes phases.

    Attributes:
        tuning: its constants.
        boundary: on whose grid clocks go on.
        order: the survivors, the best guess first.
    """

    tuning: Tuning
    boundary: Boundary
    order: IntArray

    @abstractmethod
    def propose(self, past: Past) -> Proposal | StopReason | None:
        """Return the next phase, or why there is none; None to wait for the next outcome."""

    @abstractmethod
    def committed(self, past: Past, commitment: Commitment) -> None:
        """Take note of a phase that is to be pulled now."""

    @abstractmethod
    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        """Take note of its outcome; the past holds it already."""

    @property
    def goes_on(self) -> bool:
        """Whether pulls are of use even if no look is left."""
        return False
