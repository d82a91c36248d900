"""The course of a run that trusts its linear model: estimate θ, design, compare."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from surefoot.algorithms.fitting import least_squares
from surefoot.algorithms.misfit import spares_one, witness
from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.prime.allocation import Allocation, Allocator, Race
from surefoot.algorithms.prime.coordinates import Known, coordinates_for
from surefoot.algorithms.prime.course import Course, Layout
from surefoot.algorithms.prime.finishing import whitened
from surefoot.algorithms.prime.rounding import Rounding, check_pulls, completing
from surefoot.algorithms.prime.schedule import Look, closed, schedule
from surefoot.algorithms.prime.statistic import PhaseTests
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.reasons import StopReason
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary, Claims, Commitment
from surefoot.design.for_problems import g_weights
from surefoot.design.rounding import round_design
from surefoot.noise.pooling import drawn_together, worth_of_pooled
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome


def for_batches(tuning: Tuning) -> Tuning:
    """Return the constants of phases in batches."""
    return replace(
        tuning,
        trust=tuning.batched_trust,
        strictness=0.0,
        exploration=tuning.batched_exploration,
        checks=tuning.batched_checks,
        skew_clear=tuning.batched_clear,
    )


class ModelledCourse(Course):
    """Every pair's mean is linear in its features, and every pull says something about all."""

    def __init__(
        self,
        problem: RobustProblem,
        settings: Settings,
        tuning: Tuning,
        boundary: Boundary | None,
    ) -> None:
        self.batched = settings.noise.evidence == "batches"
        tuning = for_batches(tuning) if self.batched else tuning
        self.problem, self.settings, self.tuning = problem, settings, tuning
        dimension = problem.dimension
        self.unit = max(tuning.unit_per_dimension * dimension, dimension + tuning.least_replicates)
        if self.batched:
            self.unit = max(self.unit, round(tuning.batched_unit * dimension))
        self.unit = max(self.unit, settings.least_pulls)
        scales = settings.noise.scales(problem.n_pairs)
        self.spread = g_weights(problem, scales, tuning.spread_tolerance)
        self.weights = self.spread
        self._measure_in(scales)
        self.order = np.arange(problem.n_arms)
        self.schedule = schedule(settings.delta, settings.noise, self._closed, boundary)
        self.boundary = self.schedule.boundary

    def propose(self, past: Past) -> Proposal | StopReason | None:
        if not past.tally.samples:
            waits = past.certifier.open
            counts = self._meanwhile(past) if waits else self._pilot(past.remaining)
            return Proposal(counts) if counts.any() else None
        if self._look(past) == len(self.boundary.times):
            return StopReason.LOOKS_SPENT
        proposal = self._choose(past)
        return StopReason.BUDGET if proposal is None else proposal

    def committed(self, past: Past, commitment: Commitment) -> None:
        """Let the next search for a design begin at this phase."""
        if commitment.claims:
            counts = commitment.phase.counts
            self.weights = self.allocator.weights = counts / counts.sum()

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        scales = past.tally.scales
        if self.batched:
            scales = self._likely_scales(past.tally)
            self._measure_in(scales)
        tally = past.tally
        self.theta = least_squares(self.coordinates.rows, tally.counts, tally.sums, scales)
        self._rank(past)

    def _look(self, past: Past) -> int:
        """Return the next point of the grid: all clocks go on together."""
        return int(past.places.max()) + 1

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
        counts = round_design(
            self.spread, int(min(max(wanted, self.settings.least_pulls), remaining))
        )
        return counts + check_pulls(counts, int(min(dimension + 1, remaining - counts.sum())))

    def _meanwhile(self, past: Past) -> Counts:
        """Pulls for workers that would wait for the last of the pilot."""
        return round_design(self.spread, int(min(self.settings.least_pulls, past.remaining)))

    @property
    def _means(self) -> Array:
        """(n_pairs,) what data so far say of the means."""
        return np.asarray(self.coordinates.pairs @ self.theta)

    def _rank(self, past: Past) -> None:
        """Put the survivors in order of their estimated worst cases."""
        alive = np.flatnonzero(past.certifier.survivors)
        values = self.problem.worst_of(self._means)[alive]
        self.order: IntArray = alive[np.argsort(-values, kind="stable")]

    def _noise_scale(self, tally: Tally) -> float:
        """The noise relative to `scales`, from all residuals if unknown: for sizes of gaps."""
        if self.settings.noise.known or self.batched:
            return 1.0
        silent = self.tuning.least_noise * float(np.abs(self.coordinates.rows @ self.theta).max())
        return max(math.sqrt(tally.residual_variance), silent) or 1.0

    def _choose(self, past: Past) -> Proposal | None:
        """Return the next phase and its claims; None if the budget does not allow it."""
        tally, look = past.tally, self._look(past)
        seen = tally.counts.astype(np.float64)
        known = Known(self.theta, whitened(self.coordinates.pairs, self.coordinates.rows, seen))
        relative = known._replace(theta=known.theta / self._noise_scale(tally))
        allocation = self.allocator.allocate(relative, self._race(past), self._next_look(past))
        layout = self._laid_out(allocation, past)
        if layout is None:
            return None
        if self.batched:
            layout = self._with_witness(layout, past)
        tests = PhaseTests(self.coordinates, layout.tested, known)
        if self.batched:
            layout, tests = self._in_sight(layout, tests, past)
        claims = [tests.claims(ell, arms, look) for ell, arms in self._challenges]
        return self._proposal(layout, claims)

    def _proposal(self, layout: Layout, claims: list[Claims]) -> Proposal:
        return Proposal(*layout, claims, self.coordinates.scales**2)

    @property
    def _challenges(self) -> list[tuple[int, IntArray]]:
        """The leader against all, and the runner-up against the leader."""
        return [
            (int(self.order[0]), np.sort(self.order[1:])),
            (int(self.order[1]), self.order[:1]),
        ]

    def _race(self, past: Past) -> Race:
        """Return the leader, who it has to beat, and how far it is."""
        leader = int(self.order[0])
        return Race(leader, self.order[1:], past.held(leader))

    def _next_look(self, past: Past) -> Look:
        return self.schedule.look(self._look(past), self.unit)

    def _laid_out(self, allocation: Allocation, past: Past) -> Layout | None:
        """The allocation in whole pulls and batches; None if the budget does not allow it."""
        least = (
            1 if self.settings.noise.known else self.problem.dimension + self.tuning.least_freedom
        )
        pulls = int(min(max(allocation.pulls, least, self.settings.least_pulls), past.remaining))
        if pulls < least:
            return None
        units = float(self.schedule.sizes[: self._look(past)].sum())
        counts = self.rounding.counts(allocation._replace(pulls=pulls), past.tally.counts, units)
        if not self.batched:
            return Layout(counts)
        return self.rounding.in_batches(counts, allocation.weights, past.remaining)

    def _with_witness(self, layout: Layout, past: Past) -> Layout:
        """A pair more in the batches, where the model needs one to be tested."""
        used = np.flatnonzero(layout.counts >= layout.batches)
        if not self._needs_witness(used):
            return layout
        pair = witness(self.problem.pairs, past.tally.strayed, used, layout.batches)
        if pair is None:
            return layout
        counts = layout.counts.copy()
        counts[pair] = layout.batches
        return layout._replace(counts=counts) if counts.sum() <= past.remaining else layout

    def _in_sight(self, layout: Layout, tests: PhaseTests, past: Past) -> tuple[Layout, PhaseTests]:
        """The phase, with pairs in all directions where it would see nothing of an open comparison.

        A design of few pairs may miss a direction by a hair, and one phase after another.
        """
        blind = self._blind_spots(tests, past)
        if not blind:
            return layout, tests
        used = np.flatnonzero(layout.counts >= layout.batches)
        joining = completing(self.coordinates.rows, used, np.flatnonzero(self.spread))
        counts = layout.counts.copy()
        counts[joining] = np.maximum(counts[joining], layout.batches)
        wider = layout._replace(counts=counts)
        seeing = PhaseTests(self.coordinates, wider.tested, tests.known)
        better = counts.sum() <= past.remaining and self._blind_spots(seeing, past) < blind
        return (wider, seeing) if better else (layout, tests)

    def _blind_spots(self, tests: PhaseTests, past: Past) -> int:
        """How many of the leader's open comparisons a phase would say nothing of."""
        leader, others = int(self.order[0]), np.sort(self.order[1:])
        open_ = np.isfinite(past.certifier.walks.held(leader)[others]).T
        return int((open_ & ~tests.sees(leader, others)).sum())

    def _needs_witness(self, used: IntArray) -> bool:
        return not spares_one(self.problem.pairs, used)

    @property
    def _closed(self) -> Tuning:
        """Constants without looks that a tolerance or a budget makes needless."""
        tolerance, closing = self.settings.tolerance, self.tuning.closing
        budget = self.settings.budget
        enough = math.inf if budget is None or not closing else budget / self.unit
        if not (tolerance > 0 and self.settings.noise.known):
            return closed(self.tuning, enough)
        reach = whitened(self.coordinates.pairs, self.coordinates.rows, self.spread)
        furthest = 4 * float((reach * reach).sum(axis=1).max())  # ‖z' − z‖² of any two pairs
        evidence = 2 * math.log(1 / self.settings.delta) + self.tuning.closing_margin
        needed = closing * evidence * furthest / tolerance**2 / self.unit
        return closed(self.tuning, min(needed, enough))
