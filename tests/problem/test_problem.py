"""A problem: how it is given, what is refused in the words that a user reads, what it tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import InputError, SurefootWarning
from surefoot.problem import grouping
from surefoot.problem.grouping import (
    Groups,
    basis_of,
    largest_of,
    members_of,
    places_of_smallest,
    smallest_of,
)
from surefoot.problem.problem import RobustProblem

# A problem: how it is given, what it refuses, what it tells.

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


# What is refused at the border, in the words that a user reads.


NONE: list[Any] = []
NO_ROWS = np.zeros((0, 2))
NAN = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, np.nan]])
INFINITE = [PERTURBATIONS[0], [[0.0, -np.inf]], PERTURBATIONS[2]]
ALIKE = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
SIDES = ["left", "right", "other"]
UNEVEN = [["a", "b"], ["c"], ["d", "e"]]


def paper(arms: Any = ARMS, perturbations: Any = PERTURBATIONS, **options: Any) -> RobustProblem:
    return RobustProblem.paper(arms, perturbations, **options)


def without(nothing: Any) -> RobustProblem:
    """Return a problem whose second arm has nothing for perturbations."""
    return paper(perturbations=[PERTURBATIONS[0], nothing, PERTURBATIONS[2]])


boxes, pairs = RobustProblem.from_boxes, RobustProblem.from_pairs
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: paper(NAN), "arms holds nan at row 2, column 1: replace or remove it"),
    (lambda: paper(ARMS, INFINITE), r"perturbations\[1\] holds -inf at row 0, column 1"),
    (lambda: paper([["a", "b"]], [[[0.0, 0.0]]]), "arms is not an array of numbers"),
    (
        lambda: paper(ARMS, [np.zeros((1, 3))] * 3),
        r"perturbations\[0\] has 3 columns, but arms have 2: .* equal columns",
    ),
    (
        lambda: paper(ARMS, PERTURBATIONS[:2]),
        "perturbations has 2 entries, but there are 3 arms: give one array",
    ),
    (lambda: paper([1.0, 2.0]), r"arms has shape \(2,\): give a two-dimensional array"),
    (lambda: without(NONE), r"perturbations\[1\] is empty .*zeros: no perturbation"),
    (lambda: without(NO_ROWS), r"perturbations\[1\] is empty .*zeros: no perturbation"),
    (lambda: paper(NONE, NONE), "arms is empty .*give at least one row and one column"),
    (lambda: paper(NO_ROWS, NONE), "arms is empty .*give at least one row and one column"),
    (lambda: paper(arm_names=["a", "b"]), "2 arm names were given for 3 arms"),
    (lambda: paper(arm_names=["a", "b", "a"]), "the arm name 'a' stands twice"),
    (
        lambda: paper(perturbation_names=UNEVEN),
        r"\[2, 1, 2\] names for arms with \[1, 2, 2\] perturbations",
    ),
    (
        lambda: paper(features=lambda parameters: parameters[1:]),
        "gave 4 rows for 5 pairs: it must give one row per pair",
    ),
    (
        lambda: paper(features=lambda parameters: parameters * np.nan),
        "features holds nan at row 0, column 0",
    ),
    (lambda: small().robust_values([1.0, 2.0, 3.0]), r"shape \(3,\), but the features have 2 col"),
    (lambda: small().pair_means([1.0, 2.0, 3.0]), "give one number per column"),
    (
        lambda: boxes(np.ones((2, 60)) * [[1], [2]], 0.1),
        "corners of the boxes are .* GiB, too large for this machine",
    ),
    (lambda: boxes(ARMS, -0.1), r"radii must be ≥ 0, the smallest given is -0\.1"),
    (
        lambda: boxes(ARMS, [0.1, 0.2, 0.3]),
        r"radii of shape \(3,\) do not fit arms of shape \(3, 2\): give one number",
    ),
    (lambda: boxes(ARMS, np.nan), "^radii holds nan: replace"),
    (lambda: boxes(ARMS, [0.1, np.inf]), "^radii holds inf at entry 1: replace"),
    (lambda: boxes(ARMS, "wide"), "^radii is not an array of numbers"),  # type: ignore[arg-type]
    (lambda: pairs(ARMS, [0, 1]), "give one arm number a pair"),
    (lambda: pairs(ARMS, [0.0, 1.0, 2.0]), "give whole numbers"),
    (lambda: pairs(ARMS, [0, 2, 3]), r"without holes: none for arms \[1\]"),
    (lambda: pairs(ARMS, [0, 1, 10**12]), r"without holes: none for arms \[2\]"),
    (lambda: pairs(ARMS, [-1, 0, 1]), "without holes: it holds -1"),
    (
        lambda: pairs(ARMS, [0, 1, 2], perturbation_names=["a"]),
        "1 perturbation names were given for 3 pairs",
    ),
    (
        lambda: pairs(ALIKE, [0, 0, 1, 1, 2], arm_names=SIDES),
        "arms 'left' and 'right' have identical pairs.*remove one",
    ),
    (lambda: basis_of(np.zeros((2, 2))), "all pairs are zero.*nothing to find"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_makes_no_problem_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_repeated_pairs_within_an_arm_are_merged_with_a_warning() -> None:
    repeated = [PERTURBATIONS[0], np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.1]]), PERTURBATIONS[2]]
    with pytest.warns(
        SurefootWarning, match=r"1 pairs repeat another pair of the same arm and were merged"
    ):
        problem = RobustProblem.paper(ARMS, repeated)
    assert problem.pairs.tolist() == RobustProblem.paper(ARMS, PERTURBATIONS).pairs.tolist()


def test_minus_zero_is_zero() -> None:
    with pytest.warns(SurefootWarning, match="merged"):
        problem = RobustProblem.from_pairs([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]], [0, 0, 1])
    assert problem.n_pairs == 2


def test_more_pairs_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping.os, "sysconf", lambda _: 4)
    with pytest.raises(
        InputError, match=r"the pairs are 5 × 2 numbers.*fewer arms or perturbations"
    ):
        RobustProblem.paper(ARMS, PERTURBATIONS)


def test_tabular_features_larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1 GiB
    monkeypatch.setattr(grouping.os, "sysconf", lambda name: 4096 if "SIZE" in name else 2**18)
    many = np.arange(1.0, 20_001.0)[:, None]
    with pytest.raises(
        InputError, match=r"the tabular features are 20000 × 20000 numbers, 3\.0 GiB"
    ):
        RobustProblem.from_pairs(many, np.arange(20_000), features="tabular")


def grouped(sizes: list[int]) -> Groups:
    groups = Groups()
    groups.offsets = np.concatenate([[0], np.cumsum(sizes)])
    return groups


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_the_worst_of_each_arm_is_its_smallest_and_the_first_of_equals(
    sizes: list[int], data: st.DataObject
) -> None:
    groups = grouped(sizes)
    values = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=groups.n_pairs, max_size=groups.n_pairs))
    )
    own = np.split(values, groups.offsets[1:-1])
    first = [int(start + np.argmin(part)) for start, part in zip(groups.offsets, own, strict=False)]
    assert groups.worst_of(values).tolist() == [part.min() for part in own]
    assert groups.worst_pairs_of(values).tolist() == first
    assert [groups.worst_pair(arm, values) for arm in range(groups.n_arms)] == first


def test_each_pair_knows_its_arm() -> None:
    groups = grouped([2, 1, 3])
    assert (groups.n_arms, groups.n_pairs) == (3, 6)
    assert groups.arm_of_pair.tolist() == [0, 0, 1, 2, 2, 2]
    assert groups.pairs_of(2) == slice(3, 6)


def test_groups_are_taken_along_either_axis() -> None:
    offsets, values = np.array([0, 2, 5]), np.arange(15.0).reshape(3, 5) % 4
    parts = np.split(values, offsets[1:-1], axis=1)
    assert np.array_equal(smallest_of(values, offsets).T, [part.min(axis=1) for part in parts])
    assert np.array_equal(largest_of(values, offsets).T, [part.max(axis=1) for part in parts])
    assert np.array_equal(smallest_of(values.T, offsets, axis=0), smallest_of(values, offsets).T)


def test_where_nothing_is_smallest_the_first_place_stands_for_it() -> None:
    values = np.array([np.nan, 1.0, 3.0, 2.0])
    assert places_of_smallest(values, np.array([0, 2, 4])).tolist() == [0, 3]


def test_the_members_of_some_groups_in_the_order_of_the_groups() -> None:
    members, starts = members_of(np.array([2, 0]), np.array([0, 2, 3, 6]))
    assert members.tolist() == [3, 4, 5, 0, 1]
    assert starts.tolist() == [0, 3, 5]


def test_a_redundant_column_goes_and_every_mean_stays() -> None:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((6, 2)) @ generator.standard_normal((2, 4))
    basis = basis_of(features)
    assert basis.shape == (4, 2)
    theta = generator.standard_normal(4)
    reduced, *_ = np.linalg.lstsq(features @ basis, features @ theta, rcond=None)
    assert features @ basis @ reduced == pytest.approx(features @ theta)


def test_full_rank_keeps_its_coordinates() -> None:
    assert basis_of(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == np.eye(2).tolist()


def test_units_do_not_change_the_rank() -> None:
    features = np.random.default_rng(0).standard_normal((6, 3)) * np.array([1e8, 1.0, 1e-8])
    assert basis_of(features).shape == (3, 3)
