from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import Result, StopReason
from surefoot.algorithms.fitting import information
from surefoot.algorithms.robust_static import RobustStatic
from surefoot.design import g_optimal
from surefoot.errors import InputError
from surefoot.experiments.instances import Instance, classic, random_robust
from surefoot.noise import Gaussian, SubGaussian
from surefoot.simulate import LinearSimulator, identify
from tests.algorithms.families import settings_for
from tests.algorithms.quantifiers import beats


def solved(instance: Instance, seed: int = 0, **settings: object) -> Result:
    arguments = {"delta": 0.05, "noise": Gaussian(1.0)} | settings
    return identify(
        instance[0], LinearSimulator(*instance, seed=seed), "robust-static", **arguments
    )  # type: ignore[arg-type]


def test_looks_begin_at_twice_the_support_and_grow_by_the_papers_factor() -> None:
    instance = classic(3, 0.2)
    result = solved(instance)
    totals = [record.total for record in result.history]
    assert totals[0] == 2 * g_optimal(instance[0].pairs).support.size
    assert all(after == math.ceil(1.3 * before) for before, after in pairwise(totals))


def test_pulls_follow_the_g_design() -> None:
    instance = random_robust()
    result = solved(instance)
    weights = g_optimal(instance[0].pairs).weights
    assert (result.counts[weights == 0] == 0).all()
    assert np.abs(result.counts - result.samples * weights).max() <= np.count_nonzero(weights)


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_stops_at_the_first_look_at_which_the_rule_holds(rules: str) -> None:
    """`eq:11` with its quantifiers, at every look."""
    problem, theta = instance = random_robust(4, 3, 3, gap=0.4)
    run = RobustStatic().start(problem, settings_for("robust-static", rules=rules))
    simulator = LinearSimulator(*instance, seed=2)
    looks = 0
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        looks += 1
        if rules == "paper":
            c = math.sqrt(2 * math.log(problem.n_pairs**2 / 0.05))
        else:
            c = float(stats.norm.isf(6 * 0.05 / (math.pi**2 * looks**2) / (3 * 3)))
        assert run.boundary == pytest.approx(c)
        A, b = information(problem.pairs, run.tally.counts), problem.pairs.T @ run.tally.sums
        estimate = np.linalg.solve(A, b)
        winners = [
            x
            for x in range(4)
            if all(beats(problem, estimate, A, c, x, o, strict=False) for o in range(4) if o != x)
        ]
        assert bool(winners) == (run.survivors.sum() == 1)
    assert looks > 3
    assert run.result.reason is StopReason.IDENTIFIED
    assert run.result.arm == winners[0] == problem.best_arm(theta)


def test_sub_gaussian_noise_has_the_wider_threshold() -> None:
    instance = classic(3, 0.3)
    gaussian, sub_gaussian = (
        solved(instance, noise=noise) for noise in (Gaussian(1.0), SubGaussian(1.0))
    )
    assert sub_gaussian.history[0].boundary == pytest.approx(
        math.sqrt(2 * math.log(3 / (6 * 0.05 / math.pi**2)))
    )
    assert sub_gaussian.history[0].boundary > gaussian.history[0].boundary  # type: ignore[operator]


def test_the_last_look_takes_what_the_budget_leaves() -> None:
    result = solved(classic(4, 0.05), budget=100)
    assert result.samples == 100
    assert result.reason is StopReason.BUDGET


def test_phases_anew_are_judged_by_their_own_pulls() -> None:
    """The other reading of the paper's phases: each is γ times as long, and forgets the others."""
    problem, theta = instance = random_robust(4, 3, 3, gap=0.4)
    run = RobustStatic(keep=False).start(problem, settings_for("robust-static"))
    simulator, sizes = LinearSimulator(problem, theta, seed=2), []
    while phase := run.next_phase():
        outcome = simulator.pull(phase)
        run.update(outcome)
        sizes.append(phase.samples)
        alone = run.frame.estimate(outcome.counts, outcome.sums)
        clearance = alone.clearance(np.array([run.leader]))[0]
        assert run.evidence == pytest.approx(clearance)
    support = g_optimal(problem.pairs).support.size
    assert sizes == [math.ceil(2 * support * 1.3**k) for k in range(len(sizes))]
    assert len(sizes) > 3
    assert run.result.arm == problem.best_arm(instance[1])


def test_a_frank_wolfe_design_is_nearly_as_good_and_an_unknown_solver_is_refused() -> None:
    problem, _ = instance = random_robust()
    usual, plain = (
        RobustStatic(solver=solver).start(problem, settings_for("robust-static"))
        for solver in ("certified", "frank-wolfe")
    )

    def largest(weights: np.ndarray) -> float:
        inverse = np.linalg.inv(information(problem.pairs, weights))
        return float(np.einsum("ij,jk,ik->i", problem.pairs, inverse, problem.pairs).max())

    assert largest(usual.weights) <= largest(plain.weights) <= 1.1 * largest(usual.weights)
    with pytest.raises(InputError, match="choose 'certified', 'frank-wolfe'"):
        RobustStatic(solver="newton").start(instance[0], settings_for("robust-static"))
