"""Exact intervals for shares of runs."""

from __future__ import annotations

import pytest
from scipy import stats

from surefoot.errors import InputError
from surefoot.proportions import Proportion


@pytest.mark.parametrize(("count", "runs"), [(0, 30), (1, 30), (15, 30), (30, 30), (3, 2000)])
def test_the_interval_is_that_of_clopper_and_pearson(count: int, runs: int) -> None:
    reference = stats.binomtest(count, runs).proportion_ci(0.9, method="exact")
    assert Proportion(count, runs).interval(0.9) == pytest.approx((reference.low, reference.high))


def test_too_many_are_noticed_by_the_exact_tail() -> None:
    reference = stats.binomtest(9, 60, 0.05, alternative="greater").pvalue
    assert Proportion(9, 60).excess(0.05) == pytest.approx(reference)
    assert Proportion(0, 60).excess(0.05) == 1


def test_it_reads_as_a_sentence() -> None:
    assert str(Proportion(1, 4)) == "1 of 4, 25.0 % (0.6 to 80.6 %)"


@pytest.mark.parametrize(("count", "runs"), [(3, 2), (-1, 2), (0, 0)])
def test_what_is_no_share_is_refused(count: int, runs: int) -> None:
    with pytest.raises(InputError, match="is no proportion"):
        Proportion(count, runs)
