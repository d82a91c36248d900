from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.estimates import Estimates, Frame
from surefoot.algorithms.fitting import information
from surefoot.experiments.instances import Instance, random_robust
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Phase
from tests.algorithms.quantifiers import clearance


def measured(
    instance: Instance, counts: np.ndarray, scale: float = 1.0
) -> tuple[Estimates, np.ndarray, np.ndarray]:
    """Estimates after these pulls, and the information and estimate by the textbook formulas."""
    problem, theta = instance
    scales = np.full(problem.n_pairs, scale)
    outcome = LinearSimulator(problem, theta, scale, seed=1).pull(Phase(0, counts))
    frame = Frame.of(problem, scales)
    A = information(problem.pairs / scale, counts)
    b = problem.pairs.T @ outcome.sums / scale**2
    return frame.estimate(counts, outcome.sums), A, np.linalg.solve(A, b)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_clearance_is_the_quantified_rule(scale: float) -> None:
    instance = random_robust(4, 3, 3)
    problem = instance[0]
    counts = np.random.default_rng(0).integers(0, 5, problem.n_pairs)
    estimates, A, theta = measured(instance, counts, scale)
    found = estimates.clearance(np.arange(4))
    for winner in range(4):
        for loser in set(range(4)) - {winner}:
            assert found[winner, loser] == pytest.approx(
                clearance(problem, theta, A, winner, loser), rel=1e-9
            )


def test_means_and_widths_are_those_of_least_squares() -> None:
    instance = random_robust(4, 3, 3)
    problem = instance[0]
    estimates, A, theta = measured(instance, np.full(problem.n_pairs, 2))
    assert estimates.means == pytest.approx(problem.pairs @ theta)
    assert estimates.robust_values == pytest.approx(problem.robust_values(theta))
    widths = [np.sqrt(z @ np.linalg.inv(A) @ z) for z in problem.pairs]
    assert estimates.widths == pytest.approx(widths)


def test_some_winners_among_some_arms() -> None:
    instance = random_robust(5, 4, 3)
    estimates, *_ = measured(instance, np.full(instance[0].n_pairs, 2))
    everything = estimates.clearance(np.arange(5))
    assert estimates.clearance(np.array([3, 1])) == pytest.approx(everything[[3, 1]])
    some = estimates.among(np.array([1, 4]))
    assert some.clearance(np.arange(2)) == pytest.approx(everything[np.ix_([1, 4], [1, 4])])


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_robust(5, 4, 3)
    estimates, *_ = measured(instance, np.full(instance[0].n_pairs, 2))
    whole = estimates.clearance(np.arange(5))
    monkeypatch.setattr("surefoot.algorithms.estimates.BLOCK", 1)
    assert estimates.clearance(np.arange(5)).tobytes() == whole.tobytes()


def test_after_more_pulls_the_standard_errors_are_those_of_the_larger_information() -> None:
    instance = random_robust(4, 3, 3)
    problem = instance[0]
    estimates, A, _ = measured(instance, np.full(problem.n_pairs, 2))
    z = problem.pairs[5]
    larger = estimates.after(estimates.located[5], 7)
    inverse = np.linalg.inv(A + 7 * np.outer(z, z))
    assert larger.widths == pytest.approx([np.sqrt(p @ inverse @ p) for p in problem.pairs])
    assert larger.means.tobytes() == estimates.means.tobytes()


def test_a_pull_that_measures_nothing_changes_nothing() -> None:
    estimates, *_ = measured(random_robust(4, 3, 3), np.full(12, 2))
    assert estimates.after(np.zeros(3), 7) is estimates


def test_unmeasured_differences_never_decide() -> None:
    problem = RobustProblem.paper(np.eye(3), [np.zeros((1, 3))] * 3)
    instance = problem, np.array([3.0, 2.0, 1.0])
    frame = Frame.of(problem, np.ones(3))
    counts = np.array([4, 4, 0])
    outcome = LinearSimulator(*instance, seed=0).pull(Phase(0, counts))
    estimates = frame.estimate(counts, outcome.sums)
    found = estimates.clearance(np.arange(3))
    assert np.isneginf(found[[0, 1, 2, 2], [2, 2, 0, 1]]).all()
    assert np.isfinite(found[[0, 1], [1, 0]]).all()
    assert estimates.widths.tolist()[2] == np.inf
    assert np.isfinite(estimates.widths[:2]).all()


def test_equal_pairs_neither_win_nor_lose() -> None:
    problem = RobustProblem.paper(
        [[1.0, 0.0], [1.0, 0.0]], [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    )
    frame = Frame.of(problem, np.ones(3))
    estimates = frame.estimate(np.full(3, 5), np.array([5.0, 5.0, 20.0]))
    assert estimates.clearance(np.array([0]))[0, 1] == 0.0
    assert estimates.upper_gaps(np.array([0]), 2.0)[0, 1] == np.inf
