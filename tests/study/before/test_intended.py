"""Studies that might be made."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import algorithm_from
from surefoot.errors import InputError
from surefoot.study.before import intended
from surefoot.study.before.intended import IntendedStudy, unit_gap_theta
from surefoot.study.before.pilot import Pilot
from tests.study.toys import toy_problem

SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=0)


def pilot_of(scale: float, common: float = 0.0) -> Pilot:
    """Pulls with this noise, of which a share of the variance is common to a row."""
    generator = np.random.default_rng(0)
    shared, own = generator.normal(size=(400, 1)), generator.normal(size=(400, 4))
    rewards = scale * (np.sqrt(common) * shared + np.sqrt(1 - common) * own)
    return Pilot(np.arange(4), rewards, np.full(rewards.shape, 0.5))


def large_problem(n_arms: int, n_perturbations: int) -> sf.RobustProblem:
    generator = np.random.default_rng(0)
    shape = (n_perturbations, 3)
    return sf.RobustProblem.paper(
        generator.normal(size=(n_arms, 3)),
        [0.1 * generator.normal(size=shape) for _ in range(n_arms)],
        features="linear",
    )


def test_a_single_arm_has_no_cost() -> None:
    with pytest.raises(InputError, match="nothing has to be pulled"):
        IntendedStudy(sf.RobustProblem.paper([[1.0]], [[[0.0]]]), SETTINGS, algorithm_from("prime"))


def test_a_budget_for_a_guess_leaves_nothing_to_plan() -> None:
    settings = replace(SETTINGS, misfit=math.inf, budget=400, aim="guess")
    with pytest.raises(InputError, match="nothing to plan"):
        IntendedStudy(large_problem(3, 2), settings, algorithm_from("prime"))


def test_a_problem_too_large_to_be_simulated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match='choose algorithm = "prime"'):
        IntendedStudy(large_problem(1000, 20), SETTINGS, algorithm_from("robust-rage"))
    monkeypatch.setattr(intended, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match="120 pairs: plan for a part of at most 100"):
        IntendedStudy(large_problem(12, 10), SETTINGS, algorithm_from("prime"))


def test_noise_is_as_given_or_as_the_pilot_says_or_one() -> None:
    problem, prime = toy_problem(), algorithm_from("prime")
    known = sf.Settings(delta=0.05, noise=sf.Gaussian(3.0), misfit=0)
    assert IntendedStudy(problem, known, prime, pilot_of(2.0)).typical == 3
    assert IntendedStudy(problem, SETTINGS, prime, pilot_of(2.0)).typical == pytest.approx(
        2, rel=0.1
    )
    unknown = IntendedStudy(problem, SETTINGS, prime)
    assert (unknown.typical, unknown.knows_unit) == (1, False)


def test_a_study_without_a_model_is_simulated_without_one() -> None:
    """A misfit in the unit of the rewards means nothing without a pilot; none at all does."""
    for misfit, simulated in ((math.inf, math.inf), (0.1, 0.0)):
        settings = replace(SETTINGS, misfit=misfit)
        intended = IntendedStudy(toy_problem(), settings, algorithm_from("prime"))
        assert intended.contestants()["prime"][1].misfit == simulated


def test_random_parameters_have_a_robust_gap_of_one() -> None:
    problem = toy_problem()
    theta = unit_gap_theta(problem, np.random.default_rng(3))
    assert problem.robust_gaps(theta).min() == pytest.approx(1)


def test_a_misfit_counts_where_the_unit_is_known() -> None:
    problem, prime = toy_problem(), algorithm_from("prime")
    for noise, misfit in ((sf.Gaussian(1.0), 0.1), (sf.Gaussian(), 0.0)):
        settings = sf.Settings(delta=0.05, noise=noise, misfit=0.1)
        simulated = IntendedStudy(problem, settings, prime).contestants()["prime"][1]
        assert simulated.misfit == misfit
