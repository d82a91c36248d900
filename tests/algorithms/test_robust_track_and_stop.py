"""Robust Track-and-Stop: its own properties; the rest is in the conformance suite."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.experiments.instances import random_robust
from surefoot.simulate import LinearSimulator


def run_of(seed: int = 0) -> tuple[sf.Algorithm, sf.RobustProblem, np.ndarray]:
    problem, theta = random_robust(5, 4, 3, gap=0.4)
    run = sf.algorithms.RobustTrackAndStop().start(
        problem, sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=0, on_misfit="ignore")
    )
    simulator = LinearSimulator(problem, theta, seed=seed)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return run, problem, theta


def test_it_stops_where_the_likelihood_ratio_reaches_half_the_squared_radius() -> None:
    run, problem, theta = run_of()
    assert run.result.certified
    ratio = sf.likelihood_ratio(problem, run.result.theta, run.tally.counts)
    assert ratio >= run.tally.ellipsoid_radius**2 / 2
    assert np.isclose(np.sqrt(2 * ratio), run.evidence.min())
    assert run.leader == problem.best_arm(theta)


def test_its_counts_follow_the_weights_of_the_exact_complexity() -> None:
    run, problem, theta = run_of()
    optimal = sf.complexity(problem, theta).allocation
    shares = run.tally.counts / run.samples
    explored = sf.g_design(problem).weights
    assert np.abs(shares - optimal).sum() < np.abs(explored - optimal).sum() / 2
