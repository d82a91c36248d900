from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from surefoot.algorithms import StopReason, algorithm_from
from surefoot.algorithms.fitting import information
from surefoot.algorithms.oracle import Oracle
from surefoot.design.hardness import complexity
from surefoot.errors import InputError
from surefoot.experiments.instances import (
    classic,
    irrelevant_dimensions,
    random_robust,
    unit_sphere,
)
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.testing import error_test
from tests.algorithms.families import settings_for
from tests.algorithms.quantifiers import beats


def test_the_number_of_pulls_does_not_depend_on_the_rewards() -> None:
    instance = unit_sphere(8, 4)
    samples = set()
    for seed in range(4):
        run = Oracle(instance[1]).start(instance[0], settings_for("oracle"))
        simulator = LinearSimulator(*instance, seed=seed)
        while phase := run.next_phase():
            run.update(simulator.pull(phase))
        samples.add(run.samples)
        assert run.result.reason is StopReason.IDENTIFIED
    assert len(samples) == 1


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_stops_at_the_first_look_at_which_the_true_gaps_are_clear(rules: str) -> None:
    """`eq:57` with its quantifiers; valid counts |Y(x*)|(|X| − 1) one-sided events, once."""
    problem, theta = instance = random_robust(4, 3, 3)
    best = problem.best_arm(theta)
    run = Oracle(theta).start(problem, settings_for("oracle", rules=rules))
    simulator = LinearSimulator(*instance, seed=0)
    quantile = 2.5391  # P(N > q) = 0.05 / 9
    c = math.sqrt(2 * math.log(problem.n_pairs**2 / 0.05)) if rules == "paper" else quantile
    totals = []
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        totals.append(run.samples)
        A = information(problem.pairs, run.tally.counts)
        clear = all(
            beats(problem, theta, A, c, best, x, strict=False) for x in range(4) if x != best
        )
        assert clear == (run.survivors.sum() == 1)
    assert all(after == math.ceil(1.1 * before) for before, after in pairwise(totals))


@pytest.mark.parametrize("instance", [irrelevant_dimensions(5), unit_sphere(10, 5), classic(4)])
def test_the_paper_policy_needs_the_papers_number(
    instance: tuple[RobustProblem, np.ndarray],
) -> None:
    """Appendix B: 2 log(|Z|²/δ) H_R, up to rounding and a look's growth of 1.1."""
    problem, theta = instance
    expected = complexity(problem, theta).oracle_samples(0.05)
    test = error_test(lambda given: Oracle(given[1]), instance, runs=1, rules="paper")
    assert 0.99 * expected <= test.samples <= 1.15 * expected + 2 * problem.n_pairs


def test_without_theta_it_says_what_it_needs() -> None:
    problem, _ = classic(3)
    with pytest.raises(InputError, match="must be told the true parameter"):
        algorithm_from("oracle").start(problem, settings_for("oracle"))


def test_a_tie_under_theta_is_refused() -> None:
    problem, _ = classic(3)
    with pytest.raises(InputError, match="two arms are equally good"):
        Oracle([0.0, 1.0, 1.0]).start(problem, settings_for("oracle"))


def test_a_theta_of_the_wrong_length_is_refused() -> None:
    problem, _ = classic(3)
    with pytest.raises(InputError, match="one number per column"):
        Oracle([1.0, 1.0]).start(problem, settings_for("oracle", noise=Gaussian(2.0)))


def test_a_theta_for_the_reduced_basis_is_refused() -> None:
    """On other processors the basis is another one, and the same numbers mean other rewards."""
    problem = RobustProblem.paper([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[[0.0, 0.0, 0.0]]] * 2)
    assert problem.pairs.shape[1] == 2
    Oracle([1.0, 0.5, 0.0]).start(problem, settings_for("oracle"))
    with pytest.raises(InputError, match="give one entry for each of the 3 features"):
        Oracle(problem.reduced([1.0, 0.5, 0.0])).start(problem, settings_for("oracle"))
