"""What a phase says: each boundary case of the proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import Settings
from surefoot.algorithms.prime.coordinates import Coordinates, Past, coordinates_for
from surefoot.algorithms.prime.statistic import PhaseTests
from surefoot.noise import Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Outcome, Phase


def phase_tests(
    problem: RobustProblem, scale: float, counts: np.ndarray, guess: object
) -> PhaseTests:
    """Tests of a phase, from a past that knows θ to be as guessed."""
    scales = np.full(problem.n_pairs, scale)
    coordinates = coordinates_for(problem.pairs, scales, problem.offsets)
    past = Past(own_theta(coordinates, problem, guess), np.empty((problem.n_pairs, 0)))
    return PhaseTests(coordinates, counts, past)


def own_theta(coordinates: Coordinates, problem: RobustProblem, theta: object) -> np.ndarray:
    """θ in these coordinates."""
    return np.linalg.lstsq(coordinates.pairs, problem.pair_means(theta), rcond=None)[0]


def statistics(
    tests: PhaseTests, outcome: Outcome, noise: Gaussian | None = None, tolerance: float = 0.0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Those of the only challenge."""
    settings = Settings(delta=0.05, noise=noise or Gaussian(1.0), tolerance=tolerance)
    return tests.statistics(outcome, settings)[0]


def small_problem() -> RobustProblem:
    generator = np.random.default_rng(0)
    arms = generator.standard_normal((4, 3))
    return RobustProblem(arms, [0.3 * generator.standard_normal((5, 3)) for _ in arms])


def hull_ratio(
    point: np.ndarray, others: np.ndarray, theta: np.ndarray, inverse: np.ndarray
) -> float:
    """The best ratio over many random points of the hull: a lower bound for the best one."""
    mixes = np.random.default_rng(1).dirichlet(np.full(len(others), 0.3), 20_000)
    v = point - np.concatenate([mixes, np.eye(len(others))]) @ others
    return float((v @ theta / np.sqrt(np.einsum("ki,ij,kj->k", v, inverse, v))).max())


def test_rivals_are_the_hull_points_that_are_beaten_most_clearly() -> None:
    problem, theta = small_problem(), np.array([1.0, -0.5, 0.3])
    counts = np.full(problem.n_pairs, 2)
    tests = phase_tests(problem, 1.0, counts, theta)
    leader = problem.best_arm(theta)
    others = np.delete(np.arange(4), leader)
    tests.add(leader, others)
    inverse = np.linalg.inv(2 * problem.pairs.T @ problem.pairs)
    challenge = tests.challenges[0]
    whitened_theta = np.linalg.solve(tests.root, own_theta(tests.coordinates, problem, theta))
    for k, pair in enumerate(range(problem.offsets[leader], problem.offsets[leader + 1])):
        for j, arm in enumerate(others):
            reached = float(challenge.directions[k, j] @ whitened_theta)
            best = hull_ratio(
                problem.pairs[pair], problem.pairs[problem.pairs_of(arm)], theta, inverse
            )
            assert reached >= best - 1e-6


@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
def test_statistics_have_the_stated_mean_and_unit_variance(family: str) -> None:
    problem, theta = small_problem(), np.array([1.0, -0.5, 0.3])
    phase = Phase(0, np.arange(problem.n_pairs) % 3)
    tests = phase_tests(problem, 2.0, phase.counts, [0.2, 0.1, 0.7])
    tests.add(1, np.array([0, 2, 3]))
    simulator = LinearSimulator(problem, theta, 2.0, seed=3, family=family)
    draws = np.array([statistics(tests, simulator.pull(phase))[0] for _ in range(4000)])
    mean = tests.challenges[0].directions @ np.linalg.solve(
        tests.root, own_theta(tests.coordinates, problem, theta)
    )
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.08)
    assert draws.std(axis=0) == pytest.approx(np.ones_like(mean), abs=0.06)


def test_unknown_scale_gives_standard_normal_scores_under_a_zero_gap() -> None:
    problem = RobustProblem(np.array([[1.0, 0.0], [0.0, 1.0]]), [np.zeros((1, 2))] * 2)
    phase = Phase(0, np.array([5, 4]))
    tests = phase_tests(problem, 1.0, phase.counts, [1.0, 0.0])
    tests.add(0, np.array([1]))
    simulator = LinearSimulator(problem, [2.0, 2.0], 37.0, seed=5)
    scores = [
        float(statistics(tests, simulator.pull(phase), Gaussian(equal=True))[0][0, 0])
        for _ in range(4000)
    ]
    assert stats.kstest(scores, "norm").pvalue > 1e-3


def test_directions_outside_the_range_say_nothing() -> None:
    problem = RobustProblem(np.eye(3), [np.zeros((1, 3))] * 3)
    phase = Phase(0, np.array([4, 4, 0]))
    tests = phase_tests(problem, 1.0, phase.counts, [1.0, 0.0, 0.0])
    tests.add(0, np.array([1, 2]))
    outcome = LinearSimulator(problem, [1.0, 0.0, 0.0], seed=0).pull(phase)
    plain, eased = statistics(tests, outcome, tolerance=0.5)
    assert tests.sees(0, np.array([1, 2])).tolist() == [[True, False]]
    assert plain[0, 0] != 0.0
    assert plain[0, 1] == 0.0
    assert eased is not None
    assert eased[0, 1] == 0.0


def test_a_rival_equal_to_the_challengers_pair_says_nothing() -> None:
    problem = RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1])
    phase = Phase(0, np.array([2, 2, 2]))
    tests = phase_tests(problem, 1.0, phase.counts, [1.0, 2.0])
    tests.add(0, np.array([1]))
    outcome = LinearSimulator(problem, [1.0, 2.0], seed=0).pull(phase)
    plain, _ = statistics(tests, outcome)
    assert plain[0, 0] == 0.0
    assert plain[1, 0] != 0.0
