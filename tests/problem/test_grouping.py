"""What is refused at the border, in the words that a user reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
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

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
PERTURBATIONS = [
    np.array([[0.1, 0.0]]),
    np.array([[0.0, 0.1], [0.0, 0.2]]),
    np.array([[0.5, 0.5], [0.0, 0.9]]),
]


def test_nan_is_named_by_row_and_column() -> None:
    arms = ARMS.copy()
    arms[2, 1] = np.nan
    with pytest.raises(
        InputError, match=r"arms holds nan at row 2, column 1: replace or remove it"
    ):
        RobustProblem.paper(arms, PERTURBATIONS)


def test_infinity_in_a_perturbation_is_named_by_arm_row_and_column() -> None:
    with pytest.raises(InputError, match=r"perturbations\[1\] holds -inf at row 0, column 1"):
        RobustProblem.paper(ARMS, [PERTURBATIONS[0], [[0.0, -np.inf]], PERTURBATIONS[2]])


def test_text_is_not_numbers() -> None:
    with pytest.raises(InputError, match="arms is not an array of numbers"):
        RobustProblem.paper([["a", "b"]], [[[0.0, 0.0]]])


def test_perturbations_of_other_width_than_the_arms() -> None:
    with pytest.raises(
        InputError, match=r"perturbations\[0\] has 3 columns, but arms have 2: .* equal columns"
    ):
        RobustProblem.paper(ARMS, [np.zeros((1, 3))] * 3)


def test_another_number_of_perturbation_sets_than_arms() -> None:
    with pytest.raises(
        InputError, match="perturbations has 2 entries, but there are 3 arms: give one array"
    ):
        RobustProblem.paper(ARMS, PERTURBATIONS[:2])


def test_a_flat_array_of_arms() -> None:
    with pytest.raises(InputError, match=r"arms has shape \(2,\): give a two-dimensional array"):
        RobustProblem.paper([1.0, 2.0], PERTURBATIONS)


@pytest.mark.parametrize("nothing", [np.zeros((0, 2)), []])
def test_an_arm_without_perturbations(nothing: object) -> None:
    with pytest.raises(InputError, match=r"perturbations\[1\] is empty .*zeros: no perturbation"):
        RobustProblem.paper(ARMS, [PERTURBATIONS[0], nothing, PERTURBATIONS[2]])


@pytest.mark.parametrize("nothing", [np.zeros((0, 2)), []])
def test_no_arms(nothing: object) -> None:
    with pytest.raises(InputError, match=r"arms is empty .*give at least one row and one column"):
        RobustProblem.paper(nothing, [])  # type: ignore[arg-type]


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


def test_two_arms_that_cannot_be_told_apart_are_named() -> None:
    pairs = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    with pytest.raises(
        InputError, match=r"arms 'left' and 'right' have identical pairs.*remove one"
    ):
        RobustProblem.from_pairs(pairs, [0, 0, 1, 1, 2], arm_names=["left", "right", "other"])


def test_more_corners_than_memory() -> None:
    with pytest.raises(
        InputError, match=r"corners of the boxes are .* GiB, too large for this machine"
    ):
        RobustProblem.from_boxes(np.ones((2, 60)) * [[1], [2]], 0.1)


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


def test_negative_radii() -> None:
    with pytest.raises(InputError, match=r"radii must be ≥ 0, the smallest given is -0\.1"):
        RobustProblem.from_boxes(ARMS, -0.1)


def test_radii_that_do_not_fit() -> None:
    with pytest.raises(
        InputError,
        match=r"radii of shape \(3,\) do not fit arms of shape \(3, 2\): give one number",
    ):
        RobustProblem.from_boxes(ARMS, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        (np.nan, "^radii holds nan: replace"),
        ([0.1, np.inf], "^radii holds inf at entry 1: replace"),
        ("wide", "^radii is not an array of numbers"),
    ],
)
def test_radii_that_are_no_numbers(radii: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustProblem.from_boxes(ARMS, radii)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arm_of_pair", "message"),
    [
        ([0, 1], "give one arm number a pair"),
        ([0.0, 1.0, 2.0], "give whole numbers"),
        ([0, 2, 3], r"without holes: none for arms \[1\]"),
        ([0, 1, 10**12], r"without holes: none for arms \[2\]"),
        ([-1, 0, 1], "without holes: it holds -1"),
    ],
)
def test_arm_numbers(arm_of_pair: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustProblem.from_pairs(ARMS, arm_of_pair)


def test_names() -> None:
    with pytest.raises(InputError, match="2 arm names were given for 3 arms"):
        RobustProblem.paper(ARMS, PERTURBATIONS, arm_names=["a", "b"])
    with pytest.raises(InputError, match="the arm name 'a' stands twice"):
        RobustProblem.paper(ARMS, PERTURBATIONS, arm_names=["a", "b", "a"])
    with pytest.raises(
        InputError, match=r"\[2, 1, 2\] names for arms with \[1, 2, 2\] perturbations"
    ):
        RobustProblem.paper(ARMS, PERTURBATIONS, perturbation_names=[["a", "b"], ["c"], ["d", "e"]])
    with pytest.raises(InputError, match="1 perturbation names were given for 3 pairs"):
        RobustProblem.from_pairs(ARMS, [0, 1, 2], perturbation_names=["a"])


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


def test_all_zero_features_are_refused() -> None:
    with pytest.raises(InputError, match=r"all pairs are zero.*nothing to find"):
        basis_of(np.zeros((2, 2)))
