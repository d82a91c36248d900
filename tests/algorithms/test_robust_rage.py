from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import StopReason, robust_rage
from surefoot.algorithms.fitting import information
from surefoot.algorithms.robust_rage import RobustRage
from surefoot.design import g_optimal, robust_xy, round_design, rounding_minimum
from surefoot.experiments.instances import Instance, classic, random_robust, unit_sphere
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.testing import error_test
from tests.algorithms.families import settings_for
from tests.algorithms.quantifiers import beats


def misleading() -> Instance:
    """Every inner minimum of `eq:eq14` is ±e₃, though the arms differ in e₁ and e₂ as well."""
    best = [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 10.0]]
    other = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 9.0]]
    return RobustProblem.from_pairs(best + other, [0, 0, 0, 1, 1, 1]), np.array([1.0, 0.5, 1.0])


@pytest.mark.parametrize("rules", ["paper", "valid"])
def test_it_is_algorithm_1_line_by_line(rules: str) -> None:
    """Every phase against the algorithm written out with its quantifiers."""
    problem, theta = instance = unit_sphere(6, 3, np.random.default_rng(1))
    run = RobustRage().start(problem, settings_for("robust-rage", rules=rules))
    simulator = LinearSimulator(*instance, seed=4)
    survivors, t, n_pairs = list(range(6)), 1, problem.n_pairs
    widest = int(np.diff(problem.offsets).max())
    while len(survivors) > 1:
        design = robust_xy(problem.pairs, problem.offsets, np.array(survivors))
        weights, rho = design.weights, design.value
        if rules == "paper":
            c = math.sqrt(2 * math.log(n_pairs**2 / (0.05 / t**2)))
        else:
            c = float(stats.norm.isf(6 * 0.05 / (math.pi**2 * t**2) / (5 * widest)))
            weights, rho = 0.9 * weights + 0.1 * g_optimal(problem.pairs).weights, rho / 0.9
        N = max(math.ceil(2 ** (2 * t) * rho * 1.1 * c**2), rounding_minimum(weights, 0.1))
        phase = run.next_phase()
        assert phase is not None
        assert phase.counts.tolist() == round_design(weights, N).tolist()
        outcome = simulator.pull(phase)
        run.update(outcome)
        A = information(problem.pairs, phase.counts)
        estimate = np.linalg.solve(A, problem.pairs.T @ outcome.sums)
        survivors = [
            x
            for x in survivors
            if not any(
                beats(problem, estimate, A, c, winner, x, strict=True)
                for winner in survivors
                if winner != x
            )
        ]
        assert np.flatnonzero(run.survivors).tolist() == survivors
        t += 1
    assert run.next_phase() is None
    assert run.result.arm == survivors[0] == problem.best_arm(theta)
    assert t > 2


def test_the_papers_design_can_leave_it_blind() -> None:
    """The paper's policy notices that it can never stop; the valid one measures all directions and
    does.
    """
    test = error_test(lambda _: "robust-rage", misleading(), runs=20)
    assert test.certified == 20
    assert test.errors == 0
    problem, theta = instance = misleading()
    assert problem.best_arm(theta) == 0
    run = RobustRage().start(problem, settings_for("robust-rage", rules="paper"))
    simulator = LinearSimulator(*instance, seed=0)
    while phase := run.next_phase():
        assert np.linalg.matrix_rank(information(problem.pairs, phase.counts)) < 3
        run.update(simulator.pull(phase))
    assert run.result.reason is StopReason.SINGULAR_DESIGN
    assert not run.result.certified
    assert run.samples < 10_000


def test_a_singular_design_that_measures_what_it_needs_is_no_trouble() -> None:
    """Irrelevant dimensions are not pulled once their arms are gone."""
    problem, theta = instance = classic(5, 0.1)
    run = RobustRage().start(problem, settings_for("robust-rage", rules="paper"))
    simulator = LinearSimulator(*instance, seed=0)
    ranks = []
    while phase := run.next_phase():
        ranks.append(np.linalg.matrix_rank(information(problem.pairs, phase.counts)))
        run.update(simulator.pull(phase))
    assert ranks[0] == 5
    assert ranks[-1] == 2
    assert run.result.certified
    assert run.result.arm == problem.best_arm(theta)


@pytest.mark.parametrize(("d", "public"), [(2, 5100), (6, 7800)])
def test_singletons_need_what_public_rage_needs(d: int, public: int) -> None:
    """Phases quadruple and the last one makes most of the pulls: a mean within a half to double is
    the same.
    """
    test = error_test(lambda _: "robust-rage", classic(d), runs=200, rules="paper")
    assert 0.5 * public < test.samples < 2 * public


def test_a_design_is_solved_once_for_each_surviving_set(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[bytes] = []

    def counting(
        pairs: np.ndarray, offsets: np.ndarray, arms: np.ndarray, rows: np.ndarray
    ) -> object:
        solved.append(arms.tobytes())
        return robust_xy(pairs, offsets, arms, rows)

    monkeypatch.setattr(robust_rage, "robust_xy", counting)
    problem, theta = classic(3, 0.05)
    run = RobustRage().start(problem, settings_for("robust-rage"))
    simulator = LinearSimulator(problem, theta, seed=0)
    phases = 0
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        phases += 1
    assert len(solved) == len(set(solved)) < phases


def test_noise_of_scale_two_doubles_every_width() -> None:
    problem, theta = random_robust(4, 3, 3)
    phases = []
    for scale in (1.0, 2.0):
        run = RobustRage().start(problem, settings_for("robust-rage", noise=Gaussian(scale)))
        phase = run.next_phase()
        assert phase is not None
        run.update(LinearSimulator(problem, theta, 0.0 + scale, seed=0).pull(phase))
        phases.append((phase.counts.tolist(), run.result.pair_upper - run.result.pair_lower))
    assert phases[0][0] == phases[1][0]
    assert phases[1][1] == pytest.approx(2 * phases[0][1])
