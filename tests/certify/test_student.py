"""Scores are exactly normal at a gap of zero, and below at any other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot.certify.score import (
    LOWEST,
    normal_scores,
    repeating,
    spread_means,
    student_scores,
)
from surefoot.statistics import Outcome, Phase
from tests.certify.phases import LEVEL, drawn

COUNTS, SCALES = np.array([6, 15, 40]), np.array([20.0, 1.0, 0.3])
CONTRAST = np.array([1.0, -0.7, -0.3])
values_strategy = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def _scores(means: np.ndarray, seed: int, runs: int = 3000) -> np.ndarray:
    rng, phase = np.random.default_rng(seed), Phase(0, COUNTS, 6)
    values = [
        spread_means(drawn(rng, phase, SCALES, means), np.arange(3)) @ CONTRAST for _ in range(runs)
    ]
    return student_scores(np.array(values).T, 0.0)


def test_scores_are_standard_normal_under_unequal_variances() -> None:
    scores = _scores(np.array([1.0, 1.0, 1.0]), seed=1)
    assert stats.kstest(scores, "norm").pvalue > LEVEL
    tail = int((scores > 2.326).sum())
    assert stats.binomtest(tail, len(scores), 0.01).pvalue > LEVEL


def test_pooling_the_variances_would_not_do() -> None:
    """The test above has teeth: the usual t with one variance for all pairs fails it."""
    rng, phase = np.random.default_rng(1), Phase(0, COUNTS, 6)
    outcomes = [drawn(rng, phase, SCALES) for _ in range(1500)]
    freedom = int((COUNTS - 1).sum())
    error = np.sqrt((CONTRAST**2 / COUNTS).sum())
    pooled = [
        CONTRAST @ (o.sums / COUNTS) / (error * np.sqrt(o.scatter.sum() / freedom))
        for o in outcomes
    ]
    assert stats.kstest(normal_scores(np.array(pooled), freedom), "norm").pvalue < 1e-6


def test_a_gap_below_zero_lowers_every_score() -> None:
    tied, below = _scores(np.zeros(3), seed=2), _scores(np.array([-0.5, 0.0, 0.0]), seed=2)
    assert (below < tied).all()


@given(values_strategy, st.floats(0, 10))
def test_a_shift_raises_the_score(values: list[float], shift: float) -> None:
    given_values = np.array(values)
    assert student_scores(given_values, shift) >= student_scores(given_values, 0.0) - 1e-9


@pytest.mark.parametrize("m", [2, 6, 30])
def test_values_that_are_all_alike_say_nothing_or_the_worst(m: int) -> None:
    assert student_scores(np.full(m, -1e-3), 0.0) == LOWEST
    assert student_scores(np.full(m, 0.1), 0.0) == 0
    assert student_scores(np.zeros(m), 0.0) <= 0
    assert student_scores(np.full(m, -1.0), 2.0) <= 0


@pytest.mark.parametrize("m", [2, 6, 30])
def test_noise_that_cancelled_leaves_rounding(m: int) -> None:
    """A difference that is known says as much as one that varies by 1e-12 of it."""
    known = student_scores(np.full(m, 0.1), 0.0, 1e-12)
    varying = student_scores(0.1 + 1e-13 * np.linspace(-1, 1, m) / np.std(np.linspace(-1, 1, m)), 0)
    assert 6 < known <= varying + 1
    assert student_scores(np.full(m, -1e-3), 0.0, 1e-12) == LOWEST
    assert student_scores(np.zeros(m), 0.0, 1e-12) == 0
    assert student_scores(np.full(m, 0.1), -0.2, 1e-12) == LOWEST


@pytest.mark.parametrize("m", [2, 6, 30])
def test_rounding_of_what_is_added_up_is_no_difference(m: int) -> None:
    rounding = 1e-15 * (1 + np.linspace(0, 0.1, m))
    assert student_scores(rounding, 0.0, 1e-12) > 2
    assert student_scores(rounding, 0.0, 0.0, 10.0) == 0
    assert 0 <= student_scores(rounding, 0.0, 1e-12, 10.0) < 1e-3
    assert student_scores(rounding, 0.1, 1e-12, 10.0) > 6  # a tolerance is no rounding


def test_batches_that_repeat_are_told_from_those_that_vary() -> None:
    sums = np.array([[1.0, 1.0, 0.1 + 0.2], [2.0, 1.5, 0.3], [3.0, 1.0, 0.9]])
    outcome = Outcome(0, np.full(3, 3), sums.sum(axis=0), np.ones(3), sums)
    assert repeating(outcome, np.arange(3)).tolist() == [False, True, True]
    assert repeating(Outcome(0, np.full(3, 3), np.ones(3), np.ones(3)), np.arange(2)).all()


def test_values_alike_up_to_rounding_are_alike() -> None:
    assert student_scores(1e6 + np.array([0.0, 1e-9, -1e-9, 0.0]), 0.0) == 0


def test_large_scores_keep_their_digits() -> None:
    scores = normal_scores(np.array([-30.0, -5.0, 0.0, 5.0, 30.0]), 9)
    assert np.allclose(scores, -scores[::-1])
    expected = stats.norm.isf(stats.t.sf([5.0, 30.0], 9))
    assert np.allclose(scores[3:], expected, rtol=1e-9)


def test_no_score_is_infinite() -> None:
    assert np.isfinite(normal_scores(np.array([-np.inf, 1e200, np.inf]), 29)).all()
    assert normal_scores(np.array(-np.inf), 29) == LOWEST
