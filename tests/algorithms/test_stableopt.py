from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot.algorithms import StopReason
from surefoot.algorithms.confidence import self_normalised_radius
from surefoot.algorithms.fitting import information
from surefoot.algorithms.stableopt import StableOpt
from surefoot.design import g_optimal
from surefoot.design.whitening import unit_free_root
from surefoot.errors import InputError
from surefoot.experiments.instances import classic, random_robust, unit_sphere
from surefoot.noise import Gaussian
from surefoot.simulate import LinearSimulator, identify
from tests.algorithms.families import settings_for


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_each_pull_is_the_published_choice(rules: str) -> None:
    """x_t = argmax_x min_y ucb, y_t = argmin_y lcb, and the report argmax_x min_y lcb, written
    out.
    """
    problem, _ = instance = random_robust(5, 4, 3)
    run = StableOpt(batch_growth=0).start(
        problem, settings_for("stableopt", budget=150, rules=rules)
    )
    simulator = LinearSimulator(*instance, seed=0)
    first = run.next_phase()
    assert first is not None
    assert np.flatnonzero(first.counts).tolist() == g_optimal(problem.pairs).support.tolist()
    run.update(simulator.pull(first))
    first_information = information(problem.pairs, first.counts)
    while phase := run.next_phase():
        A = information(problem.pairs, run.tally.counts)
        theta, inverse = np.linalg.solve(A, problem.pairs.T @ run.tally.sums), np.linalg.inv(A)
        beta = (
            math.sqrt(2 * math.log(problem.n_pairs / 0.05))
            if rules == "paper"
            else self_normalised_radius(unit_free_root(first_information), A, 0.05)
        )
        widths = np.array([beta * math.sqrt(z @ inverse @ z) for z in problem.pairs])
        upper, lower = problem.pairs @ theta + widths, problem.pairs @ theta - widths
        assert run.leader == max(range(5), key=lambda x: lower[problem.pairs_of(x)].min())
        x = max(range(5), key=lambda x: upper[problem.pairs_of(x)].min())
        own = problem.pairs_of(x)
        assert np.flatnonzero(phase.counts).tolist() == [own.start + int(np.argmin(lower[own]))]
        assert phase.samples == 1
        run.update(simulator.pull(phase))
    assert run.samples == 150


def test_it_spends_its_budget_and_gives_no_certificate() -> None:
    instance = unit_sphere(8, 4)
    result = identify(
        instance[0],
        LinearSimulator(*instance, seed=0),
        "stableopt",
        delta=0.05,
        noise=Gaussian(1.0),
        budget=20_000,
    )
    assert result.samples == 20_000
    assert result.reason is StopReason.NO_CERTIFICATE
    assert not result.certified
    assert result.arm == instance[0].best_arm(instance[1])
    assert len(result.history) < 150


def test_without_a_budget_it_says_what_it_needs() -> None:
    problem, _ = classic(3)
    with pytest.raises(InputError, match="never stops by itself: give a budget"):
        StableOpt().start(problem, settings_for("stableopt", budget=None))
