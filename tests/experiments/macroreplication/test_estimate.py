"""Simulators made of a study's estimates."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from surefoot import Bounded, EstimatedSimulator, Gaussian, InputError, RobustProblem, Study
from surefoot.arrays import Array
from surefoot.study.pull import PullFactory

COINS = RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])


def rewards(simulator: EstimatedSimulator, pair: int, runs: int = 4000) -> Array:
    make = PullFactory(COINS, "a study", 3)
    return np.array([simulator(make(number, 0, pair)) for number in range(runs)])


@pytest.mark.parametrize("scale", [0.05, 0.3, 0.4])
def test_rewards_have_the_estimated_mean_and_noise_within_their_range(scale: float) -> None:
    simulator = EstimatedSimulator(np.full(4, 2.6), np.full(4, 2 * scale), (2.0, 4.0))
    drawn = rewards(simulator, 0)
    assert 2 <= drawn.min() <= drawn.max() <= 4
    assert drawn.mean() == pytest.approx(2.6, abs=5 * 2 * scale / np.sqrt(4000))
    assert drawn.std() == pytest.approx(2 * scale, rel=0.08)


def test_noise_as_large_as_can_be_is_that_of_successes() -> None:
    simulator = EstimatedSimulator(np.full(4, 0.3), np.full(4, 0.5), (0.0, 1.0))
    drawn = rewards(simulator, 1)
    assert set(drawn) == {0.0, 1.0}
    assert drawn.mean() == pytest.approx(0.3, abs=0.04)


def test_without_a_range_they_are_normal_and_costs_stay_costs(tmp_path: Path) -> None:
    means = np.array([5.0, 6.0, 1.0, 2.0])
    with Study.create(
        tmp_path / "costs.db",
        COINS,
        delta=0.05,
        noise=Gaussian(),
        misfit=math.inf,
        direction="minimize",
        seed=1,
    ) as study:
        with pytest.raises(InputError, match="no estimate yet"):
            EstimatedSimulator.of(study.description, study.result)
        study.run(lambda pull: means[pull.pair] + pull.rng().normal(), "serial")
        simulator = EstimatedSimulator.of(study.description, study.result)
    assert simulator.means == pytest.approx(means, abs=1.5)
    assert rewards(simulator, 3).mean() == pytest.approx(simulator.means[3], abs=0.1)
    assert rewards(simulator, 3).std() == pytest.approx(simulator.scales[3], rel=0.05)


def test_a_certain_reward_stays_certain() -> None:
    simulator = EstimatedSimulator(np.array([0.0, 1, 0.5, 0.5]), np.zeros(4), (0.0, 1.0))
    assert set(rewards(simulator, 1, 20)) == {1.0}
    assert Bounded(0, 1).limits == (0.0, 1.0)
