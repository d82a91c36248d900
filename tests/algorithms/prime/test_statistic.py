"""Which points a phase should be compared by, where a model is trusted."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.coordinates import Coordinates, Known, coordinates_for
from surefoot.algorithms.prime.statistic import PhaseTests
from surefoot.problem.problem import RobustProblem


def phase_tests(problem: RobustProblem, counts: np.ndarray, guess: object) -> PhaseTests:
    """Tests of a phase, from a past that knows θ to be as guessed."""
    scales = np.ones(problem.n_pairs)
    coordinates = coordinates_for(problem.pairs, scales, problem.offsets)
    known = Known(own_theta(coordinates, problem, guess), np.empty((problem.n_pairs, 0)))
    return PhaseTests(coordinates, counts, known)


def own_theta(coordinates: Coordinates, problem: RobustProblem, theta: object) -> np.ndarray:
    """θ in these coordinates."""
    return np.linalg.lstsq(coordinates.pairs, problem.pair_means(theta), rcond=None)[0]


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
    leader = problem.best_arm(theta)
    others = np.delete(np.arange(4), leader)
    claims = phase_tests(problem, counts, theta).claims(leader, others, 0)
    inverse = np.linalg.inv(2 * problem.pairs.T @ problem.pairs)
    points = claims.shares.dot(problem.pairs).reshape(*claims.shape, -1)
    for k, pair in enumerate(claims.points):
        for j, arm in enumerate(others):
            v = problem.pairs[pair] - points[k, j]
            reached = v @ theta / np.sqrt(v @ inverse @ v)
            rivals = problem.pairs[problem.pairs_of(arm)]
            assert reached >= hull_ratio(problem.pairs[pair], rivals, theta, inverse) - 1e-6


def test_directions_outside_the_range_say_nothing() -> None:
    problem = RobustProblem(np.eye(3), [np.zeros((1, 3))] * 3)
    tests, arms = phase_tests(problem, np.array([4, 4, 0]), [1.0, 0.0, 0.0]), np.array([1, 2])
    assert tests.sees(0, arms).tolist() == [[True, False]]
    assert tests.claims(0, arms, 0).shares.sizes.tolist() == [1, 0]


def test_a_rival_equal_to_the_challengers_pair_says_nothing() -> None:
    problem = RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1])
    tests = phase_tests(problem, np.array([2, 2, 2]), [1.0, 2.0])
    assert tests.claims(0, np.array([1]), 0).shares.sizes.tolist() == [0, 1]
