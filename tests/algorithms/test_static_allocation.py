from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.algorithms.static_allocation import grown
from surefoot.design.designs import round_design


@st.composite
def growths(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    weights = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0, 1 / 3]), min_size=1, max_size=12))
    )
    weights[draw(st.integers(0, len(weights) - 1))] = 0.7
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    return weights / weights.sum(), np.cumsum(steps).tolist()


@settings(max_examples=300)
@given(growths())
def test_counts_never_fall_sum_to_the_total_and_follow_the_weights(
    case: tuple[np.ndarray, list[int]],
) -> None:
    weights, totals = case
    counts = np.zeros(len(weights), dtype=np.int64)
    for total in totals:
        larger = grown(weights, counts, total)
        assert larger.sum() == total
        assert (larger >= counts).all()
        assert (larger[weights == 0] == 0).all()
        counts = larger
    assert np.abs(counts - round_design(weights, totals[-1])).max() <= 1


def test_pulls_that_were_made_stay_made() -> None:
    even = np.full(3, 1 / 3)
    assert grown(even, np.array([3, 0, 0]), 4).tolist() == [3, 0, 1]
    assert grown(even, np.array([3, 0, 0]), 9).tolist() == [3, 3, 3]
