from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefoot.problem.groups import Groups, largest_of, members_of, places_of_smallest, smallest_of


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
