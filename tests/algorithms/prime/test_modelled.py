"""The course that trusts its model: what it asks for, and what it makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.prime.course import Layout
from surefoot.algorithms.prime.modelled import ModelledCourse
from surefoot.algorithms.prime.statistic import Challenge, PhaseTests
from surefoot.algorithms.tally import Tally
from surefoot.experiments.instances import random_robust, unit_sphere
from tests.algorithms.prime.phases import learnt, pairs_of

PROBLEM, THETA = random_robust(5, 3, 2)
MEANS = PROBLEM.pairs @ THETA


def begun(**options: object) -> tuple[ModelledCourse, Tally]:
    given = {"delta": 0.05, "noise": sf.Gaussian(1.0)} | options
    settings = sf.Settings(**given)  # type: ignore[arg-type]
    return ModelledCourse(PROBLEM, settings, sf.Tuning()), Tally.empty(PROBLEM, settings)


def after(course: ModelledCourse, tally: Tally, layout: Layout, noise: float) -> Tally:
    """Pull the phase, with rewards that are off the means in turn above and below."""
    pairs = pairs_of(layout)
    rewards = MEANS[pairs] + noise * (-1.0) ** np.arange(len(pairs))
    return learnt(course, tally, layout, rewards)


def test_the_pilot_measures_every_direction_and_does_not_count() -> None:
    course, tally = begun()
    layout = course.next(tally, np.inf)
    assert layout is not None
    pulled = PROBLEM.pairs[layout.counts > 0]
    assert np.linalg.matrix_rank(pulled) == PROBLEM.dimension
    assert layout.counts.sum() > len(pulled) > PROBLEM.dimension - 1
    after(course, tally, layout, 0.0)
    assert course.elimination.evidence is None
    assert course.order.tolist() == np.argsort(-PROBLEM.worst_of(MEANS)).tolist()


def test_the_first_phase_that_counts_leads_to_a_look_and_says_what_the_model_says() -> None:
    course, tally = begun()
    for noise in (0.0, 1e-3):
        layout = course.next(tally, np.inf)
        assert layout is not None
        tally = after(course, tally, layout, noise)
    assert course.look == 1
    evidence = course.elimination.evidence
    assert evidence is not None
    assert (evidence[course.order[1:]] > 0).all()
    assert course.coordinates.pairs @ course.theta == pytest.approx(MEANS, abs=1e-2)


@pytest.mark.parametrize("workers", [1, 300])
def test_phases_keep_workers_busy_and_budgets_are_kept(workers: int) -> None:
    course, tally = begun(parallel=workers)
    layout = course.next(tally, np.inf)
    assert layout is not None
    assert layout.counts.sum() >= workers
    tally = after(course, tally, layout, 0.5)
    rest = course.next(tally, 7)
    assert rest is not None
    assert rest.counts.sum() <= 7


def test_where_levels_differ_pairs_beyond_the_dimension_are_in_every_batch() -> None:
    """So that the model can be tested without any noise level."""
    course, tally = begun(noise=sf.Gaussian())
    for noise in (0.5, 0.5):
        layout = course.next(tally, np.inf)
        assert layout is not None
        tally = after(course, tally, layout, noise)
    assert layout.batches >= min(course.tuning.batch_choices)
    assert np.count_nonzero(layout.tested) > PROBLEM.dimension


def test_an_unknown_level_needs_replicates_or_no_phase_is_given() -> None:
    course, tally = begun(noise=sf.Gaussian(equal=True))
    layout = course.next(tally, np.inf)
    assert layout is not None
    tally = after(course, tally, layout, 0.5)
    least = PROBLEM.dimension + course.tuning.least_freedom
    assert course.next(tally, least - 1) is None
    enough = course.next(tally, least)
    assert enough is not None
    assert enough.counts.sum() == least


def test_phases_held_together_let_runs_end_where_contrasts_are_many() -> None:
    """A limit in units of levels that nobody knew yet once kept runs from ever ending."""
    problem, theta = unit_sphere(50, rng=np.random.default_rng(50))
    for seed in range(6):
        simulator = sf.LinearSimulator(problem, theta, seed=seed)
        result = sf.identify(problem, simulator, delta=0.05, noise=sf.Gaussian(), budget=20_000)
        assert result.certified


def _blind_phases(seed: int, course_of: type[ModelledCourse] = ModelledCourse) -> int:
    """Of a run on twenty boxes in twelve dimensions, phases that leave an open comparison out."""
    rng = np.random.default_rng(seed)
    radii = np.zeros((20, 12))
    arms, radii[:, :3] = rng.uniform(-1, 1, (20, 12)), rng.uniform(0.05, 0.3, (20, 3))
    problem, theta = sf.RobustProblem.from_boxes(arms, radii), rng.normal(size=12)
    simulator = sf.LinearSimulator(problem, theta / np.linalg.norm(theta), seed=seed)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(), tolerance=0.15)
    course, tally = course_of(problem, settings, sf.Tuning()), Tally.empty(problem, settings)
    blind = 0
    for index in range(12):
        layout = course.next(tally, np.inf)
        assert layout is not None
        phase = sf.Phase(index, layout.counts, layout.batches)
        if course.tests is not None:
            challenge, *_ = course.tests.challenges
            held = course.elimination.walks.held_by(challenge.challenger)[challenge.arms]
            assert isinstance(challenge, Challenge)
            blind += bool((np.isfinite(held).T & np.isinf(challenge.lengths)).any())
        outcome = simulator.pull(phase)
        tally = tally.after(outcome)
        course.learn(tally, phase, outcome)
        if len(course.order) < 2:
            break
    return blind


class Unsighted(ModelledCourse):
    """Takes each phase as it was designed."""

    def _in_sight(
        self, layout: Layout, tests: PhaseTests, remaining: float
    ) -> tuple[Layout, PhaseTests]:
        return layout, tests


def test_every_phase_sees_something_of_every_open_comparison() -> None:
    """A design that misses a direction by a hair did so for a million pulls."""
    seeds = range(30)
    assert not sum(_blind_phases(seed) for seed in seeds)
    assert sum(_blind_phases(seed, Unsighted) for seed in seeds)
