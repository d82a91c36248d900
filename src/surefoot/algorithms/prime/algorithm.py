"""PRIME: predictable-rival max-min elimination, the default algorithm. The proof is in
docs/prime.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.designs import g_weights
from surefoot.algorithms.prime.allocation import Allocator, Race
from surefoot.algorithms.prime.coordinates import Past, coordinates_for
from surefoot.algorithms.prime.finishing import whitened
from surefoot.algorithms.prime.rounding import Rounding, check_pulls
from surefoot.algorithms.prime.schedule import continuation, first_schedule
from surefoot.algorithms.prime.statistic import PhaseTests
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.prime.walks import Walks
from surefoot.algorithms.result import StopReason
from surefoot.arrays import Array, IntArray
from surefoot.design.rounding import round_design
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome, least_squares


@dataclass(eq=False)
class Prime(Algorithm):
    """Eliminates an arm once the evidence that its worst case is beaten crosses a sequential
    boundary.

    Before each phase, from past data alone: a leader, a design that tells it from the survivors,
    and for every pair of the leader the point of each survivor that it should beat most clearly.
    After the phase, one normal statistic for each of those comparisons joins a walk per arm. For
    the best arm that walk is dominated by one with known variances and no drift, so it crosses the
    boundary with probability at most delta, whatever was chosen.

    Attributes:
        tuning: the constants that decide its plans; a study file holds them.
    """

    tuning: Tuning = field(default_factory=Tuning)
    name: ClassVar[str] = "prime"
    needs_scale: ClassVar[bool] = False
    has_paper_policy: ClassVar[bool] = False
    supports_tolerance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.tuning, Mapping):  # from a configuration file
            self.tuning = Tuning.given(self.tuning)
        if not isinstance(self.tuning, Tuning):
            raise InputError(
                f"tuning={self.tuning!r:.80} must be a Tuning, like Tuning(growth=1.2)"
            )

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Rebuild what a study file describes; one of version 0.1 says nothing of the tuning."""
        return super().from_options({**options, "tuning": Tuning.stored(options.get("tuning", {}))})

    def begin(self) -> None:
        tuning, dimension, scales = self.tuning, self.problem.dimension, self.tally.scales
        self.coordinates = coordinates_for(self.problem.pairs, scales, self.problem.offsets)
        self.spread = g_weights(self.problem, scales, tuning.spread_tolerance)
        self.unit = max(tuning.unit_per_dimension * dimension, dimension + tuning.least_replicates)
        self.allocator = Allocator(self.coordinates, self.spread, tuning)
        self.rounding = Rounding(self.coordinates.rows, self.spread, tuning)
        self.units = 0.0
        self.epoch = -1
        self.tests: PhaseTests | None = None
        self._next_epoch()

    def next_counts(self) -> Counts | StopReason:
        if reason := self._finished():
            return reason
        if not self.history:
            return self._pilot()
        if self.look == len(self.schedule.sizes):
            self._next_epoch()
        seen = self.tally.counts.astype(np.float64)
        past = Past(self.theta, whitened(self.coordinates.pairs, self.coordinates.rows, seen))
        counts = self._counts(past)
        if counts is None:
            return StopReason.BUDGET
        self.tests = PhaseTests(self.coordinates, counts, past)
        self.tests.add(self.leader, np.sort(self.ranked[1:]))
        self.tests.add(int(self.ranked[1]), self.ranked[:1])
        return counts

    def learn(self, outcome: Outcome) -> None:
        if self.tests is not None:
            self._look(outcome, self.tests)
        self.theta = least_squares(
            self.coordinates.rows, self.tally.counts, self.tally.sums, self.tally.scales
        )
        self.ranked = self._ranked(self.theta)
        self.leader = int(self.ranked[0]) if len(self.ranked) else self.leader

    def _finished(self) -> StopReason | None:
        alive = int(self.survivors.sum())
        if alive <= 1:
            return StopReason.IDENTIFIED if alive else StopReason.NO_SURVIVOR
        if (winner := self._within_tolerance()) is not None:
            self.leader = winner
            return StopReason.WITHIN_TOLERANCE
        return StopReason.BUDGET if self.remaining < 1 else None

    def _pilot(self) -> Counts:
        """Pulls spread over all directions, and a few that check the model: they choose, but do not
        count.
        """
        dimension = self.problem.dimension
        counts = round_design(
            self.spread, int(min(self.tuning.pilot_per_dimension * dimension, self.remaining))
        )
        return counts + check_pulls(counts, int(min(dimension + 1, self.remaining - counts.sum())))

    def _ranked(self, theta: Array) -> IntArray:
        """Surviving arms, best estimated worst case first."""
        alive = np.flatnonzero(self.survivors)
        values = self.problem.worst_of(self.coordinates.pairs @ theta)[alive]
        return alive[np.argsort(-values, kind="stable")]

    def _noise_scale(self) -> float:
        """Of the noise relative to `scales`, from all residuals so far if it is unknown: for the
        size of gaps.
        """
        if self.settings.noise.known:
            return 1.0
        silent = self.tuning.least_noise * float(np.abs(self.coordinates.rows @ self.theta).max())
        return max(math.sqrt(self.tally.residual_variance), silent) or 1.0

    def _counts(self, past: Past) -> Counts | None:
        """The pulls of the next phase; None if the budget does not allow it."""
        relative = past._replace(theta=past.theta / self._noise_scale())
        race = Race(self.leader, self.ranked[1:], self.walks.held_by(self.leader))
        allocation = self.allocator.allocate(
            relative, race, self.schedule.look(self.look, self.unit)
        )
        least = (
            1 if self.settings.noise.known else self.problem.dimension + self.tuning.least_freedom
        )
        pulls = int(min(max(allocation.pulls, least), self.remaining))
        if pulls < least:
            return None
        return self.rounding.counts(allocation._replace(pulls=pulls), self.tally.counts, self.units)

    def _look(self, outcome: Outcome, tests: PhaseTests) -> None:
        weight = float(self.schedule.weights[self.look])
        for challenge, (plain, eased) in zip(
            tests.challenges, tests.statistics(outcome, self.settings), strict=True
        ):
            self.walks.add(weight, challenge, plain, eased)
        self.units += float(self.schedule.sizes[self.look])
        self.boundary = float(self.schedule.boundary[self.look])
        self.look += 1
        root = np.sqrt(self.schedule.variances[self.look])
        self.evidence = self.walks.walk / root
        self.survivors = self.survivors & (self.evidence < self.boundary)
        if self.settings.tolerance > 0:
            for leader in self.walks.blocks:
                crossed = self.walks.eased_walk(leader) / root >= self.boundary
                self.near[leader] = (
                    self.near.get(leader, np.zeros(len(crossed), dtype=bool)) | crossed
                )
        self.walks.settle(self.boundary * root)

    def _within_tolerance(self) -> int | None:
        """An arm that every other survivor has been shown not to beat by more than the
        tolerance.
        """
        for leader in sorted(self.near, key=lambda arm: arm != self.leader):
            others = self.survivors & ~self.near[leader]
            others[leader] = False
            if self.survivors[leader] and not others.any():
                return leader
        return None

    def _next_epoch(self) -> None:
        """Start a fresh walk on the looks planned for this epoch."""
        self.epoch += 1
        delta, noise = self.settings.delta, self.settings.noise
        self.schedule = (
            first_schedule(delta, noise, self.tuning)
            if self.epoch == 0
            else continuation(self.epoch, self.units, delta, noise, self.tuning)
        )
        self.look = 0
        self.walks = Walks(self.problem.offsets)
        self.near: dict[int, NDArray[np.bool_]] = {}
