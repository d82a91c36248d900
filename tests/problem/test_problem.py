"""A problem: how it is given, what it refuses, what it tells."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
PERTURBATIONS = [
    np.array([[0.1, 0.0]]),
    np.array([[0.0, 0.1], [0.0, 0.2]]),
    np.array([[0.5, 0.5], [0.0, 0.9]]),
]


def small() -> RobustProblem:
    return RobustProblem.paper(ARMS, PERTURBATIONS)


class TestWhatItHolds:
    def test_pairs_are_arms_less_perturbations_grouped_by_arm(self) -> None:
        problem = small()
        assert problem.pairs == pytest.approx(
            np.array([[0.9, 0.0], [0.0, 0.9], [0.0, 0.8], [0.5, 0.5], [1.0, 0.1]])
        )
        assert problem.offsets.tolist() == [0, 1, 3, 5]
        assert (problem.n_arms, problem.n_pairs, problem.dimension) == (3, 5, 2)
        assert problem.arm_of_pair.tolist() == [0, 1, 1, 2, 2]
        assert problem.pairs_of(1) == slice(1, 3)

    def test_robust_values_are_the_worst_cases(self) -> None:
        problem = small()
        theta = np.array([1.0, 2.0])
        assert problem.robust_values(theta) == pytest.approx([0.9, 1.6, 1.2])
        assert problem.best_arm(theta) == 1
        assert problem.robust_gaps(theta) == pytest.approx([0.7, 0.4, 0.4])
        assert problem.worst_pairs(theta).tolist() == [0, 2, 4]

    def test_pairs_in_any_order(self) -> None:
        problem = small()
        order = np.array([3, 1, 0, 4, 2])
        shuffled = RobustProblem.from_pairs(problem.pairs[order], problem.arm_of_pair[order])
        theta = np.array([0.3, -1.0])
        assert shuffled.robust_values(theta) == pytest.approx(problem.robust_values(theta))
        assert shuffled.offsets.tolist() == problem.offsets.tolist()

    def test_boxes_have_the_worst_case_of_the_whole_box(self) -> None:
        generator = np.random.default_rng(0)
        arms, radii = generator.standard_normal((4, 3)), generator.uniform(0, 0.5, (4, 3))
        radii[0, 1] = 0
        problem = RobustProblem.from_boxes(arms, radii)
        theta = generator.standard_normal(3)
        assert problem.robust_values(theta) == pytest.approx(arms @ theta - radii @ np.abs(theta))
        assert np.diff(problem.offsets).tolist() == [4, 8, 8, 8]

    def test_one_radius_for_all(self) -> None:
        assert RobustProblem.from_boxes(ARMS, 0.1).n_pairs == 12

    def test_names_reach_the_description_of_a_pair(self) -> None:
        problem = RobustProblem.paper(
            ARMS,
            PERTURBATIONS,
            arm_names=["a", "b", "c"],
            perturbation_names=[["p"], ["q", "r"], ["s", "t"]],
            parameter_names=["u", "v"],
        )
        assert problem.describe_pair(2) == {"arm": "b", "perturbation": "r", "u": 0.0, "v": 0.8}
        assert problem.feature_names == ["u", "v"]

    def test_it_cannot_be_changed(self) -> None:
        problem = small()
        with pytest.raises(ValueError, match="read-only"):
            problem.pairs[0, 0] = 5.0

    def test_the_callers_arrays_are_copied(self) -> None:
        arms = ARMS.copy()
        problem = RobustProblem.paper(arms, PERTURBATIONS)
        arms[:] = 0
        assert problem.pairs[0, 0] == 0.9

    def test_it_describes_itself(self) -> None:
        assert repr(small()) == "RobustProblem(3 arms, 5 pairs, dimension 2, features 'given')"


class TestRank:
    @settings(max_examples=40)
    @given(st.integers(1, 4), st.integers(0, 10**6))
    def test_pairs_are_reduced_to_their_span_and_keep_their_rewards(
        self, rank: int, seed: int
    ) -> None:
        generator = np.random.default_rng(seed)
        arms = generator.standard_normal((6, rank)) @ generator.standard_normal((rank, 5))
        problem = RobustProblem.paper(arms, [np.zeros((1, 5))] * 6)
        assert problem.dimension == rank
        assert np.linalg.matrix_rank(problem.pairs) == rank
        theta = generator.standard_normal(5)
        assert problem.pairs @ problem.reduced(theta) == pytest.approx(problem.features @ theta)
        assert problem.pairs == pytest.approx(problem.features @ problem.basis)

    def test_full_rank_keeps_the_callers_coordinates(self) -> None:
        problem = small()
        assert problem.basis.tolist() == np.eye(2).tolist()
        assert problem.reduced([1.0, 2.0]) == pytest.approx([1.0, 2.0])

    def test_theta_is_taken_for_features_or_for_the_reduced_basis(self) -> None:
        arms = np.array([[1.0, 1.0], [2.0, 2.0]])
        problem = RobustProblem.paper(arms, [np.zeros((1, 2))] * 2)
        assert problem.dimension == 1
        means = problem.pair_means([3.0, 4.0])
        assert means == pytest.approx([7.0, 14.0])
        assert problem.pair_means(problem.reduced([3.0, 4.0])) == pytest.approx(means)


class TestBadInput:
    def test_a_single_arm_is_allowed(self) -> None:
        problem = RobustProblem.paper([[1.0, 2.0]], [[[0.0, 0.0]]])
        assert problem.best_arm([1.0, 1.0]) == 0
        assert problem.robust_gaps([1.0, 1.0]).tolist() == [np.inf]

    def test_theta_of_another_length(self) -> None:
        with pytest.raises(
            InputError, match=r"theta has shape \(3,\), but the features have 2 columns"
        ):
            small().robust_values([1.0, 2.0, 3.0])

    def test_a_feature_map_that_loses_rows(self) -> None:
        with pytest.raises(
            InputError, match="gave 4 rows for 5 pairs: it must give one row per pair"
        ):
            RobustProblem.paper(ARMS, PERTURBATIONS, features=lambda parameters: parameters[1:])

    def test_a_feature_map_that_makes_nan(self) -> None:
        with pytest.raises(InputError, match="features holds nan at row 0, column 0"):
            RobustProblem.paper(
                ARMS, PERTURBATIONS, features=lambda parameters: parameters * np.nan
            )


def test_an_arm_at_the_end_of_its_grid_is_known():
    grid = [[gain, delay] for gain in (1, 2, 4) for delay in (0, 5)]
    problem = RobustProblem.paper(grid, [np.zeros((1, 2))] * 6, parameter_names=["gain", "delay"])
    assert [problem.edges_of(arm) for arm in range(6)] == [["gain"]] * 2 + [[]] * 2 + [["gain"]] * 2
    again = RobustProblem.from_dict(problem.to_dict())
    assert again.edges_of(0) == ["gain"]
    scattered = RobustProblem.paper(grid[:5], [np.zeros((1, 2))] * 5)
    assert scattered.edges_of(0) == []
    pairs = RobustProblem.from_pairs(grid, range(6))
    assert pairs.edges_of(0) == []
    assert "arms" not in pairs.to_dict()


PROBLEM = RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [0.5, 0.25]], [0, 0, 1])


def test_an_arm_is_worth_what_its_worst_pair_is() -> None:
    assert PROBLEM.pair_means([2.0, 4.0]).tolist() == [2.0, 4.0, 2.0]
    assert PROBLEM.robust_values([2.0, 5.0]).tolist() == [2.0, 2.25]
    assert PROBLEM.worst_pairs([2.0, 5.0]).tolist() == [0, 2]
    assert PROBLEM.best_arm([2.0, 5.0]) == 1


def test_the_gap_of_the_best_is_to_the_second() -> None:
    assert PROBLEM.robust_gaps([2.0, 5.0]).tolist() == [0.25, 0.25]
    alone = RobustProblem.paper([[1.0]], [[[0.0]]])
    assert alone.robust_gaps([1.0]).tolist() == [np.inf]


def test_another_length_of_theta_is_refused() -> None:
    with pytest.raises(InputError, match="give one number per column"):
        PROBLEM.pair_means([1.0, 2.0, 3.0])


@pytest.mark.parametrize("features", ["given", "linear", "quadratic", "tabular"])
def test_json_rebuilds_it_to_the_bit(features: str) -> None:
    generator = np.random.default_rng(0)
    problem = RobustProblem.paper(
        generator.standard_normal((4, 3)),
        [generator.standard_normal((k, 3)) for k in (1, 4, 2, 3)],
        features=features,
    )
    again = RobustProblem.from_json(problem.to_json())
    for name in ("parameters", "features", "pairs", "offsets", "basis"):
        assert getattr(again, name).tobytes() == getattr(problem, name).tobytes()
    assert again.perturbation_names == problem.perturbation_names
    assert repr(again) == repr(problem)


def test_a_feature_map_of_the_callers_own_is_stored_as_its_values() -> None:
    problem = RobustProblem.paper(ARMS, PERTURBATIONS, features=np.exp)
    again = RobustProblem.from_json(problem.to_json())
    assert again.features.tobytes() == problem.features.tobytes()
    assert again.feature_kind == "custom"
    assert RobustProblem.from_json(again.to_json()).pairs.tobytes() == problem.pairs.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[1, 2]", "this JSON holds a list"),
        ("{}", "needs the entry 'parameters'"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustProblem.from_json(text)


@pytest.mark.parametrize("offsets", [[0, 1, 3], [0, 3, 3, 5], [0, 3, 1, 5], [0, 1, 3, 9], [0]])
def test_damaged_offsets_are_refused(offsets: list[int]) -> None:
    data = json.loads(RobustProblem.paper(ARMS, PERTURBATIONS).to_json()) | {"offsets": offsets}
    with pytest.raises(InputError, match="do not divide 5 pairs among the arms"):
        RobustProblem.from_dict(data)


def test_arms_of_another_shape_are_refused():
    described = RobustProblem.paper([[1.0], [2.0]], [[[0.0]]] * 2).to_dict()
    with pytest.raises(InputError, match="2 arms of 1 parameters"):
        RobustProblem.from_dict(described | {"arms": [[1.0]]})
