"""What a study will cost."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import algorithm_from
from surefoot.errors import InputError
from surefoot.study import plan
from surefoot.study.plan import expected_costs
from tests.study.toys import toy_problem

SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian())


def test_hardness_grows_with_the_inverse_square_of_the_gap() -> None:
    wide, narrow = expected_costs(
        toy_problem(), SETTINGS, algorithm_from("prime"), gaps=(1.0, 0.1), draws=2
    )
    assert narrow.hardness == pytest.approx(100 * wide.hardness)
    assert narrow.lower_bound == pytest.approx(100 * wide.lower_bound)
    assert list(narrow.pulls) == ["prime", "robust-rage", "robust-static"]
    pulls = narrow.pulls["prime"]
    assert pulls is not None
    assert pulls > narrow.lower_bound / 3
    assert all(value is not None and value > 0 for value in narrow.pulls.values())


def test_the_scale_of_the_noise_does_not_matter_to_a_gap_in_its_units() -> None:
    small = sf.Settings(delta=0.05, noise=sf.Gaussian(0.01))
    (one,) = expected_costs(toy_problem(), SETTINGS, algorithm_from("prime"), gaps=(0.5,), draws=1)
    (other,) = expected_costs(toy_problem(), small, algorithm_from("prime"), gaps=(0.5,), draws=1)
    assert one.hardness == pytest.approx(other.hardness, rel=1e-6)


def test_a_single_arm_has_no_cost() -> None:
    with pytest.raises(InputError, match="nothing has to be pulled"):
        list(
            expected_costs(sf.RobustProblem([[1.0]], [[[0.0]]]), SETTINGS, algorithm_from("prime"))
        )


def large_problem(n_arms: int, n_perturbations: int) -> sf.RobustProblem:
    generator = np.random.default_rng(0)
    shape = (n_perturbations, 3)
    return sf.RobustProblem(
        generator.normal(size=(n_arms, 3)),
        [0.1 * generator.normal(size=shape) for _ in range(n_arms)],
        features="linear",
    )


def test_a_large_problem_is_planned_without_what_compares_every_pair_with_every_arm() -> None:
    problem = large_problem(1000, 20)
    tracemalloc.start()
    try:
        costs = expected_costs(problem, SETTINGS, algorithm_from("prime"), gaps=(2.0,), draws=1)
        (cost,) = costs
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert list(cost.pulls) == ["prime", "robust-static"]
    with pytest.raises(InputError, match='choose algorithm = "prime"'):
        next(expected_costs(problem, SETTINGS, algorithm_from("robust-rage")))


def test_a_problem_too_large_to_be_simulated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match="120 pairs: plan for a part of at most 100"):
        next(expected_costs(large_problem(12, 10), SETTINGS, algorithm_from("prime")))
