"""Forecasts of the pulls that are left."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.study.before.forecast import expected_left, is_near_tie
from tests.study.toys import THETA, toy_problem


def followed(noise: sf.Noise, tolerance: float, seed: int = 2) -> list[tuple[float, int]]:
    """Once arms are compared, after each phase: what is forecast, and what was left."""
    problem = toy_problem()
    means = problem.pairs @ THETA
    chances = 0.5 + 0.2 * (means - means.mean()) / np.abs(means - means.mean()).max()
    tabular = sf.RobustProblem.from_pairs(np.eye(8), problem.arm_of_pair)
    simulator = sf.LinearSimulator(tabular, chances, 0.3, seed=seed)
    if noise.limits:
        simulator = sf.LinearSimulator(tabular, chances, seed=seed, family="bernoulli")
    settings = sf.Settings(delta=0.05, noise=noise, misfit=math.inf, tolerance=tolerance)
    run, said = sf.Prime().start(tabular, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        if run.boundary is not None:
            said.append((expected_left(run), run.samples))
    return [(forecast, run.samples - at) for forecast, at in said if forecast is not None]


@pytest.mark.parametrize("noise", [sf.Gaussian(), sf.Gaussian(0.3), sf.Bounded(0, 1)], ids=repr)
def test_without_a_model_the_forecast_is_of_the_right_size(noise: sf.Noise) -> None:
    runs = [followed(noise, 0.02, seed) for seed in range(25)]
    for share in (0.0, 0.5):
        found = [run[int(share * len(run))] for run in runs]
        ratios = [(forecast + 1) / (left + 1) for forecast, left in found]
        assert 1 / 3 < np.median(ratios) < 3


def first_forecast(noise: sf.Noise, tolerance: float) -> float:
    return followed(noise, tolerance)[0][0]


def test_a_tolerance_makes_it_smaller() -> None:
    strict, eased, easy = (first_forecast(sf.Gaussian(), size) for size in (0.0, 0.02, 0.3))
    assert easy < eased < strict


def forecasts(tolerance: float) -> list[tuple[float | None, int]]:
    """Of a run that trusts its model: after each phase, what is forecast and what was left."""
    problem = toy_problem()
    simulator = sf.LinearSimulator(problem, THETA, 5.0, seed=2)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(5.0), misfit=0, tolerance=tolerance)
    run, said = sf.Prime().start(problem, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        said.append((expected_left(run), run.samples))
    return [(forecast, run.samples - at) for forecast, at in said]


def test_a_trusted_model_knows_the_tolerance_too() -> None:
    strict, eased = forecasts(0.0), forecasts(2.0)
    assert strict[0][0] is None  # too early to say
    assert eased[1][0] is not None
    assert strict[1][0] is not None
    assert eased[1][0] < 0.9 * strict[1][0]


@pytest.mark.parametrize("tolerance", [0.0, 2.0])
def test_at_the_end_nothing_is_left(tolerance: float) -> None:
    assert forecasts(tolerance)[-1] == (0.0, 0)


def halfway(misfit: float, seed: int) -> tuple[float, int]:
    """In the middle of a run on a parabola: what is forecast, and what was left."""
    arms = np.linspace(0.2, 1.4, 7)[:, None]
    problem = sf.RobustProblem.paper(arms, [[[-0.1], [0.1]]] * 7, features="quadratic")
    x = problem.parameters[:, 0]
    theta, *_ = np.linalg.lstsq(problem.pairs, 2.0 * x - 1.5 * x**2, rcond=None)
    simulator = sf.LinearSimulator(problem, theta, 0.3, seed=seed)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(0.3), misfit=misfit)
    run, said = sf.Prime().start(problem, settings), []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        said.append((expected_left(run), run.samples))
    forecast, at = said[len(said) // 2]
    assert forecast is not None
    return forecast, run.samples - at


def test_a_misfit_makes_it_larger_and_of_the_right_size() -> None:
    exact, covered = ([halfway(misfit, seed) for seed in range(1, 12)] for misfit in (0.0, 0.02))
    assert np.median([f for f, _ in covered]) > 2 * np.median([f for f, _ in exact])
    assert 1 / 3 < np.median([(f + 1) / (left + 1) for f, left in covered]) < 3


def test_near_ties_are_pointed_out_to_those_who_have_no_tolerance() -> None:
    strict = sf.Settings(delta=0.05, misfit=math.inf, noise=sf.Gaussian())
    assert is_near_tie(100, 1_501.0, strict)
    assert not is_near_tie(100, 1_500.0, strict)
    assert not is_near_tie(10_000, 1_501.0, strict)
    assert not is_near_tie(100, None, strict)
    assert not is_near_tie(99, 9_000.0, strict)
    assert not is_near_tie(100, 9_000.0, replace(strict, tolerance=0.1))
    assert not is_near_tie(100, 9_000.0, replace(strict, budget=9_100, aim="guess"))
