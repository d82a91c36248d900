"""Batches as one sample: what arms have of their columns, and what a fall leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from surefoot.evidence.caution import Moments
from surefoot.evidence.sample import Columns, Sample

ONES = np.ones((1, 3))
SAMPLE = Sample(
    Columns(ONES, ONES, ONES, np.array([[4.0, 5.0, 1.0]]), ONES),
    Moments(np.array([[3.0, 4.0, 0.0]]), ONES, ONES, ONES),
    np.array([4.0, 0.0]),
    np.array([0, 2]),
)


def test_columns_of_an_arm_are_summed() -> None:
    assert SAMPLE.of_arms(np.array([[1.0, 2.0, 4.0]])).tolist() == [[3.0, 4.0]]
    assert SAMPLE.sizes.tolist() == [[9.0, 2.0]]
    assert SAMPLE.roots.tolist() == [2.0, 1.0]


def test_walks_are_normal_scores_of_the_whole_sample() -> None:
    walks = SAMPLE.walks(np.array([[2.0, 1.0]]))
    expected = [2 * special.ndtri(special.stdtr(7, 2.0)), special.ndtri(special.stdtr(1, 1.0))]
    assert walks[0] == pytest.approx(expected)


def test_a_fall_lowers_a_statistic_as_one_more_value_would() -> None:
    values = np.array([1.0, 3.0, 2.0, 2.5, 1.5, 2.0, 3.5, 0.5, 2.0])
    values = (values - values.mean()) / values.std(ddof=1) + 1  # of mean 1 and deviation 1
    fallen = np.append(values, 1 - 4.0)
    t = 3.0 * values.mean()
    found = SAMPLE.after_a_fall(np.array([[t, 0.0]]), np.array([[4.0, 0.0]]))[0, 0]
    assert found == pytest.approx(np.sqrt(10) * fallen.mean() / fallen.std(ddof=1))
