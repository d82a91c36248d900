"""Phases that keep workers busy: larger, fewer, and no less valid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.experiments.instances import random_robust
from surefoot.testing import LEVEL

INSTANCE = random_robust(n_arms=4, n_perturbations=3, d=3, gap=0.5)
KINDS: list[dict[str, Any]] = [
    {"noise": sf.Gaussian(1.0), "misfit": 0.0},
    {"noise": sf.Gaussian(), "misfit": 0.0},
    {"noise": sf.Gaussian(1.0), "misfit": math.inf},
    {"noise": sf.Gaussian(), "misfit": math.inf},
    {"noise": sf.Gaussian(), "misfit": math.inf, "common_random_numbers": True},
]


def sizes(parallel: int, **asked: Any) -> list[int]:
    problem, theta = INSTANCE
    simulator = sf.LinearSimulator(problem, theta, seed=3)
    result = sf.identify(problem, simulator, delta=0.05, parallel=parallel, **asked)
    assert result.arm == problem.best_arm(theta)
    return [int(record.counts.sum()) for record in result.history]


@pytest.mark.parametrize("asked", KINDS, ids=str)
def test_every_phase_has_as_many_pulls_as_there_should_be_workers(asked: dict[str, Any]) -> None:
    alone, busy = sizes(1, **asked), sizes(100, **asked)
    assert min(busy) >= 90  # whole pulls of each pair may round a few away
    assert len(busy) <= len(alone)


def test_other_algorithms_refuse_it() -> None:
    with pytest.raises(sf.InputError, match="leave parallel at 1"):
        sizes(2, noise=sf.Gaussian(1.0), algorithm="robust-rage")


@pytest.mark.parametrize("parallel", [0, 1.5, "many", 10**9])
def test_what_is_no_number_of_workers_is_refused(parallel: Any) -> None:
    with pytest.raises(sf.InputError, match="whole number of workers"):
        sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0, parallel=parallel)


@pytest.mark.statistical
def test_at_exact_ties_large_phases_err_no_more_often() -> None:
    from scipy import stats

    problem = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    runs, delta, errors = 100, 0.2, 0
    for seed in range(runs):
        simulator = sf.TableSimulator(np.zeros(4), seed=seed)
        result = sf.identify(
            problem, simulator, delta=delta, noise=sf.Gaussian(), misfit=math.inf,
            budget=600, parallel=50,
        )  # fmt: skip
        errors += 0 not in result.candidates
    assert stats.binom.sf(errors - 1, runs, delta) > LEVEL
