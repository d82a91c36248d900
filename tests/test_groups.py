from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surefoot.groups import Groups


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
