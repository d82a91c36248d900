"""The course of a run that trusts its linear model: estimate θ, design, compare, eliminate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from surefoot.algorithms.designs import g_weights
from surefoot.algorithms.prime.allocation import Allocation, Allocator, Race
from surefoot.algorithms.prime.coordinates import Past, coordinates_for
from surefoot.algorithms.prime.course import Course, Layout, Tests
from surefoot.algorithms.prime.elimination import Elimination
from surefoot.algorithms.prime.finishing import whitened
from surefoot.algorithms.prime.rounding import Rounding, check_pulls, completing
from surefoot.algorithms.prime.schedule import Look, closed, continuation, first_schedule
from surefoot.algorithms.prime.statistic import PhaseTests
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.design.rounding import round_design
from surefoot.evidence.misfit import spares_one, witness
from surefoot.evidence.together import Together, Weighed
from surefoot.fitting import least_squares
from surefoot.noise.pooling import drawn_together, worth_of_pooled
from surefoot.problem import RobustProblem
from surefoot.statistics import Counts, Outcome, Phase

Scores = tuple[Array, Array | None]


def for_batches(tuning: Tuning) -> Tuning:
    """The same with fewer looks: few runs get so far, and all of them share δ."""
    return replace(
        tuning,
        growth=tuning.batched_growth,
        looks=tuning.batched_looks,
        trust=tuning.batched_trust,
        strictness=0.0,
        exploration=tuning.batched_exploration,
        checks=tuning.batched_checks,
        skew_clear=tuning.batched_clear,
    )


class ModelledCourse(Course):
    """Every pair's mean is linear in its features, and every pull says something about all."""

    def __init__(self, problem: RobustProblem, settings: Settings, tuning: Tuning) -> None:
        self.batched = settings.noise.evidence == "batches"
        tuning = for_batches(tuning) if self.batched else tuning
        self.problem, self.settings, self.tuning = problem, settings, tuning
        dimension = problem.dimension
        self.unit = max(tuning.unit_per_dimension * dimension, dimension + tuning.least_replicates)
        if self.batched:
            self.unit = max(self.unit, round(tuning.batched_unit * dimension))
        self.unit = max(self.unit, settings.parallel)
        self.elimination = Elimination(problem.offsets, settings.tolerance)
        scales = settings.noise.scales(problem.n_pairs)
        self.spread = g_weights(problem, scales, tuning.spread_tolerance)
        self.weights = self.spread
        self._measure_in(scales)
        self.units, self.epoch = 0.0, -1
        self.together = self._second_opinion()
        self.tests: Tests | None = None
        self.order = np.arange(problem.n_arms)
        self._next_epoch()

    def next(self, tally: Tally, remaining: float) -> Layout | None:
        if not tally.samples:
            return Layout(self._pilot(remaining))
        if self.look == len(self.schedule.sizes):
            self._next_epoch()
        chosen = self._choose(tally, remaining)
        if chosen is None:
            return None
        layout, self.tests = chosen
        self.tests.add(int(self.order[0]), np.sort(self.order[1:]))
        self.tests.add(int(self.order[1]), self.order[:1])
        return layout

    def learn(self, tally: Tally, phase: Phase, outcome: Outcome) -> None:
        if self.tests is not None:
            self._look(outcome, self.tests)
        scales = tally.scales
        if self.batched:
            scales = self._likely_scales(tally)
            self._measure_in(scales)
        self.theta = least_squares(self.coordinates.rows, tally.counts, tally.sums, scales)
        self._rank()

    def _likely_scales(self, tally: Tally) -> Array:
        """(n_pairs,) noise levels as data say, drawn together as far as they seem alike.

        For choices only: a design for levels that merely seem to differ costs pulls.
        """
        scatter, freedom, most = tally.scatter, tally.freedom, self.tuning.batched_alike
        return np.sqrt(drawn_together(scatter, freedom, worth_of_pooled(scatter, freedom, most)))

    def _measure_in(self, scales: Array) -> None:
        """Work in coordinates in which a pull of every pair is equally noisy, as far as known."""
        self.coordinates = coordinates_for(self.problem.pairs, scales, self.problem.offsets)
        self.allocator = Allocator(self.coordinates, self.weights, self.spread, self.tuning)
        self.rounding = Rounding(self.coordinates.rows, self.spread, self.tuning)

    def _pilot(self, remaining: float) -> Counts:
        """Pulls in all directions, a few that check the model: they choose, but do not count."""
        dimension = self.problem.dimension
        wanted = self.tuning.pilot_per_dimension * dimension * (2 if self.batched else 1)
        counts = round_design(self.spread, int(min(max(wanted, self.settings.parallel), remaining)))
        return counts + check_pulls(counts, int(min(dimension + 1, remaining - counts.sum())))

    @property
    def _means(self) -> Array:
        """(n_pairs,) what data so far say of the means."""
        return np.asarray(self.coordinates.pairs @ self.theta)

    def _rank(self) -> None:
        """Put the survivors in order of their estimated worst cases."""
        alive = np.flatnonzero(self.elimination.survivors)
        values = self.problem.worst_of(self._means)[alive]
        self.order: IntArray = alive[np.argsort(-values, kind="stable")]

    def _noise_scale(self, tally: Tally) -> float:
        """The noise relative to `scales`, from all residuals if unknown: for sizes of gaps."""
        if self.settings.noise.known or self.batched:
            return 1.0
        silent = self.tuning.least_noise * float(np.abs(self.coordinates.rows @ self.theta).max())
        return max(math.sqrt(tally.residual_variance), silent) or 1.0

    def _choose(self, tally: Tally, remaining: float) -> tuple[Layout, Tests] | None:
        """The next phase, and what it can test; None if the budget does not allow it."""
        seen = tally.counts.astype(np.float64)
        past = Past(self.theta, whitened(self.coordinates.pairs, self.coordinates.rows, seen))
        relative = past._replace(theta=past.theta / self._noise_scale(tally))
        allocation = self.allocator.allocate(relative, self._race, self._next_look)
        self.weights = allocation.weights
        layout = self._laid_out(allocation, tally, remaining)
        if layout is None:
            return None
        if self.batched:
            layout = self._with_witness(layout, tally, remaining)
        tests = PhaseTests(self.coordinates, layout.tested, past)
        if self.batched:
            return self._in_sight(layout, tests, remaining)
        return layout, tests

    @property
    def _race(self) -> Race:
        """The leader, who it has to beat, and how far it is."""
        leader = int(self.order[0])
        return Race(leader, self.order[1:], self.elimination.walks.held_by(leader))

    @property
    def _next_look(self) -> Look:
        return self.schedule.look(self.look, self.unit)

    def _laid_out(self, allocation: Allocation, tally: Tally, remaining: float) -> Layout | None:
        """The allocation in whole pulls and batches; None if the budget does not allow it."""
        least = (
            1 if self.settings.noise.known else self.problem.dimension + self.tuning.least_freedom
        )
        pulls = int(min(max(allocation.pulls, least, self.settings.parallel), remaining))
        if pulls < least:
            return None
        counts = self.rounding.counts(allocation._replace(pulls=pulls), tally.counts, self.units)
        if not self.batched:
            return Layout(counts)
        return self.rounding.in_batches(counts, allocation.weights, remaining)

    def _with_witness(self, layout: Layout, tally: Tally, remaining: float) -> Layout:
        """A pair more in the batches, where the model needs one to be tested."""
        used = np.flatnonzero(layout.counts >= layout.batches)
        if not self._needs_witness(used):
            return layout
        pair = witness(self.problem.pairs, tally.strayed, used, layout.batches)
        if pair is None:
            return layout
        counts = layout.counts.copy()
        counts[pair] = layout.batches
        return layout._replace(counts=counts) if counts.sum() <= remaining else layout

    def _in_sight(
        self, layout: Layout, tests: PhaseTests, remaining: float
    ) -> tuple[Layout, PhaseTests]:
        """The phase, with pairs in all directions where it would see nothing of an open comparison.

        A design of few pairs may miss a direction by a hair, and one phase after another.
        """
        blind = self._blind_spots(tests)
        if not blind:
            return layout, tests
        used = np.flatnonzero(layout.counts >= layout.batches)
        joining = completing(self.coordinates.rows, used, np.flatnonzero(self.spread))
        counts = layout.counts.copy()
        counts[joining] = np.maximum(counts[joining], layout.batches)
        wider = layout._replace(counts=counts)
        seeing = PhaseTests(self.coordinates, wider.tested, tests.past)
        better = counts.sum() <= remaining and self._blind_spots(seeing) < blind
        return (wider, seeing) if better else (layout, tests)

    def _blind_spots(self, tests: PhaseTests) -> int:
        """How many of the leader's open comparisons a phase would say nothing of."""
        leader, others = int(self.order[0]), np.sort(self.order[1:])
        open_ = np.isfinite(self.elimination.walks.held_by(leader)[others]).T
        return int((open_ & ~tests.sees(leader, others)).sum())

    def _needs_witness(self, used: IntArray) -> bool:
        return not spares_one(self.problem.pairs, used)

    def _look(self, outcome: Outcome, tests: Tests) -> None:
        root = math.sqrt(float(self.schedule.weights[self.look]))
        scored = tests.statistics(outcome, self.settings)
        if self.together is not None:
            scored = self._taken_together(outcome, tests, scored)
        for challenge, (plain, eased) in zip(tests.challenges, scored, strict=True):
            self.elimination.add(challenge, root * plain, None if eased is None else root * eased)
        self.units += float(self.schedule.sizes[self.look])
        boundary = float(self.schedule.boundary[self.look])
        self.look += 1
        self.elimination.look(
            self.look - 1, boundary, math.sqrt(float(self.schedule.variances[self.look]))
        )

    def _second_opinion(self) -> Together | None:
        """What holds scores against all batches so far, where there are any."""
        if not self.batched:
            return None
        arms = np.arange(self.problem.n_arms + 1)
        sizes, tolerance = np.diff(self.problem.offsets), self.settings.tolerance
        return Together(sizes, arms, tolerance, self.tuning.suspicion)

    def _taken_together(self, outcome: Outcome, tests: Tests, scored: list[Scores]) -> list[Scores]:
        """The same scores, lowered where all batches so far, as one sample, say less."""
        assert self.together is not None
        lowered: list[Scores] = []
        each = zip(tests.challenges, tests.contrasts(outcome), scored, strict=True)
        for challenge, contrasts, (plain, eased) in each:
            both = np.stack([plain, plain if eased is None else eased])
            steps = np.ones(len(challenge.arms)) * self.schedule.weights[self.look]
            added = self.together.add(challenge, Weighed(*contrasts, steps, both))
            plain, easier = added / np.sqrt(steps)
            lowered.append((plain, None if eased is None else easier))
        return lowered

    def skewness(self, leader: int) -> float | None:
        return None if self.together is None else self.together.skewness(leader)

    @property
    def _closed(self) -> Tuning:
        """Constants without looks that a tolerance makes needless: known before any pull."""
        tolerance, closing = self.settings.tolerance, self.tuning.closing
        if not (tolerance > 0 and self.settings.noise.known):
            return self.tuning
        reach = whitened(self.coordinates.pairs, self.coordinates.rows, self.spread)
        furthest = 4 * float((reach * reach).sum(axis=1).max())  # ‖z' − z‖² of any two pairs
        evidence = 2 * math.log(1 / self.settings.delta) + self.tuning.closing_margin
        return closed(self.tuning, closing * evidence * furthest / tolerance**2 / self.unit)

    def _next_epoch(self) -> None:
        """Start a fresh walk on the looks planned for this epoch."""
        self.epoch += 1
        delta, noise, n_arms = self.settings.delta, self.settings.noise, self.problem.n_arms
        self.schedule = (
            first_schedule(delta, noise, self._closed)
            if self.epoch == 0
            else continuation(self.epoch, self.units, delta, noise, self.tuning)
        )
        self.look = 0
        if self.together is not None:
            self.together.begin()
        self.elimination.begin(self.schedule.attained(n_arms, delta, noise))
