"""The contract of a course: how PRIME's run goes on, with a model or without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from surefoot.algorithms.prime.elimination import Elimination
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.evidence.together import Tested
from surefoot.statistics import Counts, Outcome, Phase


class Layout(NamedTuple):
    """The next phase: (n_pairs,) counts, how many batches, and whether streams are shared."""

    counts: Counts
    batches: int = 0
    shared: bool = False

    @property
    def tested(self) -> Counts:
        """(n_pairs,) the counts of the pairs that are in every batch; 0 for the others."""
        return np.where(self.counts >= max(self.batches, 1), self.counts, 0)


class BatchValues(NamedTuple):
    """What batches say of a challenge.

    Attributes:
        values: (n_batches, n_own, n_tested) contrasts.
        layout: (n_own, n_tested) their variances in those of differences of single pulls, if all
            pairs were equally noisy; infinite where nothing is measured.
        units: (n_own, n_tested) the deviation of such a difference, as it seemed before the phase.
    """

    values: Array
    layout: Array
    units: Array

    @classmethod
    def of(cls, values: Array, layout: Array, variances: Array) -> BatchValues:
        """Take (n_own, n_tested) variances of the values too, as they seemed before the phase."""
        measured = (layout > 0) & (variances > 0)
        units = np.sqrt(np.divide(variances, layout, out=np.ones_like(layout), where=measured))
        return cls(values, np.where(measured, layout, np.inf), units)


class Tests(Protocol):
    """What a phase will be used for, fixed before it is pulled."""

    @property
    def challenges(self) -> Sequence[Tested]: ...

    def add(self, challenger: int, arms: IntArray) -> None:
        """Let a challenger be compared with these arms."""

    def statistics(self, outcome: Outcome, settings: Settings) -> list[tuple[Array, Array | None]]:
        """For each challenge T, and T eased by the tolerance: (n_own, n_arms_tested)."""

    def contrasts(self, outcome: Outcome) -> list[BatchValues]:
        """For each challenge what batches say, before it is made a statistic."""


class Course(ABC):
    """Chooses phases and weighs their outcomes.

    Attributes:
        elimination: who is still possible.
        order: the survivors, the best guess first.
    """

    elimination: Elimination
    order: IntArray

    @abstractmethod
    def next(self, tally: Tally, remaining: float) -> Layout | None:
        """The next phase; None if the budget does not allow it."""

    @abstractmethod
    def learn(self, tally: Tally, phase: Phase, outcome: Outcome) -> None:
        """Take what came of the phase; `tally` holds it already."""

    def skewness(self, leader: int) -> float | None:
        """Of the leader's differences, where evidence takes them for normal and follows it."""
        return None

    @property
    def exhausted(self) -> bool:
        """Whether no more looks are planned."""
        return False
