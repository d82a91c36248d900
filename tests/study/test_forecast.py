"""Forecasts of the pulls that are left."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.study.forecast import expected_left
from tests.study.toys import THETA, toy_problem


def first_forecast(noise: sf.Noise, tolerance: float) -> tuple[float, int]:
    """What is forecast once arms are compared, and what was left."""
    problem = toy_problem()
    means = problem.pairs @ THETA
    chances = 0.5 + 0.2 * (means - means.mean()) / np.abs(means - means.mean()).max()
    tabular = sf.RobustProblem.from_pairs(np.eye(8), problem.arm_of_pair)
    simulator = sf.LinearSimulator(tabular, chances, 0.3, seed=2, family="gaussian")
    if noise.limits:
        simulator = sf.LinearSimulator(tabular, chances, seed=2, family="bernoulli")
    settings = sf.Settings(delta=0.05, noise=noise, trust="pairs", tolerance=tolerance)
    run, forecast = sf.Prime().start(tabular, settings), None
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        if forecast is None and run.boundary is not None:
            forecast, at = expected_left(run), run.samples
    assert forecast is not None
    return forecast, run.samples - at


@pytest.mark.parametrize(
    ("noise", "factor"), [(sf.Gaussian(), 3), (sf.Gaussian(0.3), 3), (sf.Bounded(0, 1), 20)]
)
def test_without_a_model_the_forecast_is_of_the_right_size(noise: sf.Noise, factor: int) -> None:
    forecast, left = first_forecast(noise, tolerance=0.02)
    assert left / factor < forecast < 3 * left


def test_a_tolerance_makes_it_smaller() -> None:
    strict, _ = first_forecast(sf.Gaussian(), tolerance=0.0)
    eased, _ = first_forecast(sf.Gaussian(), tolerance=0.02)
    easy, _ = first_forecast(sf.Gaussian(), tolerance=0.3)
    assert easy < eased < strict
