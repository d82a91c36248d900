"""Robust RAGE with one of its parts taken away or changed.

For the diagnosis in why_rage.py only. Nothing is proved for these variants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.algorithms.reasons import StopReason
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.algorithms.static_allocation import grown
from surefoot.arrays import Array
from surefoot.design.rounding import round_design, rounding_minimum
from surefoot.statistics import Counts, Outcome


@dataclass(eq=False)
class Recording(RobustRage):
    """Robust RAGE that notes for each phase what line 6 and r(ε) ask for."""

    def begin(self) -> None:
        super().begin()
        self.wanted: list[tuple[float, int]] = []

    def line_6(self) -> tuple[Array, float]:
        lambda_, rho = self._design()
        return lambda_, 2 ** (2 * self.t) * rho * (1 + self.epsilon) * self._threshold() ** 2

    def next_counts(self) -> Counts | StopReason:
        planned = super().next_counts()
        if not isinstance(planned, StopReason):
            lambda_, n = self.line_6()
            self.wanted.append((n, rounding_minimum(lambda_, self.epsilon)))
        return planned


@dataclass(eq=False)
class WithoutRounding(Recording):
    """Without r(ε), the only place where the size of a design's support matters."""

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        lambda_, n = self.line_6()
        return round_design(lambda_, math.ceil(n))


@dataclass(eq=False)
class Looking(Recording):
    """Looks as often as Robust Static does: each phase grows by 1.3 and ends early if one arm is
    left.
    """

    growth: float = 1.3

    def begin(self) -> None:
        super().begin()
        self.phase_counts: Counts = np.zeros(self.problem.n_pairs, dtype=np.int64)
        self.phase_sums: Array = np.zeros(self.problem.n_pairs)

    def next_counts(self) -> Counts | StopReason:
        if self.survivors.sum() == 1:
            return StopReason.IDENTIFIED
        self.lambda_, self.size = self.line_6()
        pulled = int(self.phase_counts.sum())
        total = (
            math.ceil(self.growth * pulled) if pulled else 2 * int(np.count_nonzero(self.lambda_))
        )
        counts: Counts = (
            grown(self.lambda_, self.phase_counts, min(total, math.ceil(self.size)))
            - self.phase_counts
        )
        return counts

    def learn(self, outcome: Outcome) -> None:
        self.phase_counts = self.phase_counts + outcome.counts
        self.phase_sums = self.phase_sums + outcome.sums
        before, t = self.survivors, self.t
        super().learn(self.judged(outcome))
        if self.phase_counts.sum() >= math.ceil(self.size):
            self.phase_counts, self.phase_sums = 0 * self.phase_counts, 0.0 * self.phase_sums
        elif (
            self.survivors.sum() > 1
        ):  # the phase goes on, with the arms and the design it began with
            self.survivors, self.t = before, t

    def judged(self, outcome: Outcome) -> Outcome:
        """What arms are eliminated by: the pulls of this phase."""
        return Outcome(outcome.phase, self.phase_counts, self.phase_sums, outcome.scatter)


@dataclass(eq=False)
class Keeping(Looking):
    """Looks as often, and judges by the pulls of all phases instead of forgetting those of the
    phases before.
    """

    def judged(self, outcome: Outcome) -> Outcome:
        return Outcome(outcome.phase, self.tally.counts, self.tally.sums, outcome.scatter)
