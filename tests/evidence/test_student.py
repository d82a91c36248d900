"""Normal scores of contrasts, and the corrections that only lower them."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.evidence.student import Caution, student_scores


def caution(skewness: float) -> Caution:
    return Caution(np.array([skewness]), np.array([0.0]))


@pytest.mark.parametrize("skewness", [-6.0, -1.0, 0.0, 1.0, 6.0])
def test_values_that_are_all_alike_and_below_zero_are_the_lowest_evidence(skewness: float) -> None:
    alike = np.full((6, 1), -0.5)
    score = student_scores(alike, 0.0, caution(skewness))[0]
    assert score == student_scores(alike, 0.0)[0] < -30


def test_values_that_are_all_alike_and_above_zero_say_nothing() -> None:
    assert student_scores(np.full((6, 1), 0.5), 0.0, caution(-2.0))[0] <= 0


@pytest.mark.parametrize("skewness", [-6.0, -1.0, 1.0, 6.0])
def test_caution_only_lowers(skewness: float) -> None:
    values = np.random.default_rng(0).normal(0.2, 1.0, (8, 2000))
    wary = Caution(np.full(2000, skewness), np.full(2000, 0.9))
    plain, corrected = student_scores(values, 0.0), student_scores(values, 0.0, wary)
    assert (corrected <= plain + 1e-12).all()
    assert (corrected < plain - 1e-3).any()
