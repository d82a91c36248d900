"""Pairs that are compared need not be those that can be pulled."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms import algorithm_from
from surefoot.design.hardness import complexity
from surefoot.errors import InputError
from surefoot.noise import Gaussian
from surefoot.problem.measures import CVaR, Worst
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify
from surefoot.testing import error_test

D, ARMS = 4, 6
SETTINGS = {"delta": 0.05, "noise": Gaussian(1.0), "misfit": 0.0, "on_misfit": "ignore"}


def items(seed: int = 0) -> tuple[RobustProblem, np.ndarray]:
    """Arms of two pairs in four dimensions; only multiples of the unit vectors can be pulled."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(ARMS * 2, D))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    arm = np.concatenate([np.repeat(np.arange(ARMS), 2), np.full(D, 2)])
    compared = np.arange(len(arm)) < len(own)
    pairs = np.vstack([own, 3 * np.eye(D)])
    problem = RobustProblem.from_pairs(pairs, arm, pulled=~compared, compared=compared)
    return problem, rng.normal(size=D)


def plain(problem: RobustProblem) -> RobustProblem:
    """The same arms, every pair of which can be pulled."""
    chosen = problem.compared_pairs
    return RobustProblem.from_pairs(problem.features[chosen], problem.arm_of_pair[chosen])


def test_arms_are_worst_among_the_pairs_that_are_compared() -> None:
    problem, theta = items()
    other = plain(problem)
    assert problem.transductive
    assert not other.transductive
    assert problem.robust_values(theta) == pytest.approx(other.robust_values(theta))
    assert problem.best_arm(theta) == other.best_arm(theta)
    assert np.isin(problem.worst_pairs(theta), problem.compared_pairs).all()
    means = problem.pair_means(theta)
    assert problem.worst_pair(2, means) == problem.worst_pairs(theta)[2]
    assert problem.compared_offsets.tolist() == other.offsets.tolist()


def test_pairs_are_sorted_and_merged_with_their_marks() -> None:
    pairs = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    with pytest.warns(UserWarning, match="were merged"):
        problem = RobustProblem.from_pairs(
            pairs,
            [1, 0, 0, 0],
            pulled=[True, False, True, False],
            compared=[True, True, False, True],
        )
    assert problem.parameters.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert problem.pullable.tolist() == [0, 2]
    assert problem.compared is None  # all are


def test_a_problem_survives_json_and_not_a_table() -> None:
    problem, _ = items()
    again = RobustProblem.from_json(problem.to_json())
    assert (again.pulled == problem.pulled).all()
    assert (again.compared == problem.compared).all()
    frame = problem.to_frame()
    assert frame["pulled"].sum() == D
    assert frame["compared"].sum() == 2 * ARMS
    with pytest.raises(InputError, match="write to_json"):
        problem.to_csv("never.csv")
    assert "pulled" not in plain(problem).to_dict()


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ({"pulled": [True, False]}, "give True or False for each"),
        ({"pulled": [1, 1, 0]}, "give True or False for each"),
        ({"pulled": [True, False, False]}, "measure 1 of the 2 directions"),
        ({"compared": [True, True, False]}, "arm 'arm 1' has no pair that is compared"),
        ({"compared": [True, False, True]}, "identical pairs"),
    ],
)
def test_marks_that_make_no_question_are_refused(marks: dict[str, list[bool]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1], **marks)


def test_a_measure_mixes_compared_pairs_alone() -> None:
    problem, theta = items()
    means = problem.pair_means(theta)
    for measure in (Worst(), CVaR(0.6)):
        own, other = measure.points(problem), measure.points(plain(problem))
        assert np.isin(own.columns, problem.compared_pairs).all()
        values = other.values_of(plain(problem).pair_means(theta))
        assert own.values_of(means) == pytest.approx(values)


def test_hardness_is_that_of_the_pulls_there_are() -> None:
    """Multiples of the unit vectors are three times as long as what is compared."""
    problem, theta = items()
    bound, other = (complexity(each, theta) for each in (problem, plain(problem)))
    assert bound.gap == pytest.approx(other.gap)
    assert bound.exact != pytest.approx(other.exact, rel=0.01)
    pairs = problem.features[problem.compared_pairs]
    squares = np.linalg.inv((9 * np.eye(D)) / D)  # of equal pulls
    best = problem.best_arm(theta)
    arms, worst = np.repeat(np.arange(ARMS), 2), 0.0
    for z in pairs[arms == best]:
        for arm in set(range(ARMS)) - {best}:
            v = z - pairs[arms == arm]
            needs = np.einsum("ij,jk,ik->i", v, squares, v) / np.maximum(v @ theta, 1e-12) ** 2
            worst = max(worst, needs.min())
    assert bound.paper <= worst


@pytest.mark.parametrize("rules", ["valid", "paper"])
def test_robust_rage_pulls_what_can_be_pulled_and_finds_the_best_arm(rules: str) -> None:
    problem, theta = items()
    for seed in range(5):
        simulator = LinearSimulator(problem, theta, seed=seed)
        result = identify(problem, simulator, "robust-rage", rules=rules, **SETTINGS)
        assert result.certified
        assert result.arm == problem.best_arm(theta)
        assert not result.counts[~problem.pulled].any()


def test_robust_rage_by_frank_wolfe_needs_about_as_many() -> None:
    problem, theta = items()
    needed = []
    for solver in ("certified", "frank-wolfe"):
        algorithm = algorithm_from("robust-rage", solver=solver)
        runs = [
            identify(
                problem,
                LinearSimulator(problem, theta, seed=seed),
                algorithm,
                rules="paper",
                **SETTINGS,
            )
            for seed in range(10)
        ]
        needed.append(np.mean([run.samples for run in runs]))
    assert needed[1] == pytest.approx(needed[0], rel=0.5)


def test_robust_rage_errs_rarely_at_a_near_tie() -> None:
    """Two arms that are nearly as good, told apart by pulls of neither."""
    pairs = np.array([[1.0, 0.0, 0.0], [0.98, 0.2, 0.0], [-1.0, 0.0, 1.0], *(2 * np.eye(3))])
    problem = RobustProblem.from_pairs(
        pairs, [0, 1, 2, 0, 0, 0], pulled=np.arange(6) > 2, compared=np.arange(6) < 3
    )
    theta = np.array([1.0, 0.0, 0.0])

    found = error_test(
        lambda instance: "robust-rage",
        (problem, theta),
        delta=0.2,
        runs=200,
        noise=Gaussian(0.02),
        true_scale=0.02,
    )
    assert found.certified == found.runs
    assert not found.rejected


@pytest.mark.parametrize("name", ["robust-static", "robust-lingape", "uniform"])
def test_other_algorithms_refuse_with_a_hint(name: str) -> None:
    problem, theta = items()
    simulator = LinearSimulator(problem, theta, seed=0)
    with pytest.raises(InputError, match='use "prime" or "robust-rage"'):
        identify(problem, simulator, name, budget=1000, **SETTINGS)
