"""The test of errors must itself be able to fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.experiments.instances import near_tie
from surefoot.testing import LEVEL, ErrorTest, error_test


def test_p_value_is_the_binomial_tail() -> None:
    for errors in (0, 1, 20, 40, 400):
        tail = sum(stats.binom.pmf(k, 400, 0.05) for k in range(errors, 401))
        assert ErrorTest(400, 400, errors, 0.05, 1.0).p_value == pytest.approx(tail, abs=1e-12)


def test_a_right_error_rate_is_not_rejected_and_twice_the_rate_is() -> None:
    generator = np.random.default_rng(0)
    right, wrong = generator.binomial(400, 0.05, 2000), generator.binomial(400, 0.12, 2000)
    assert np.mean([ErrorTest(400, 400, int(k), 0.05, 1.0).rejected for k in right]) <= 3 * LEVEL
    assert np.mean([ErrorTest(400, 400, int(k), 0.05, 1.0).rejected for k in wrong]) > 0.9


@pytest.mark.statistical
def test_noise_six_times_larger_than_stated_is_caught() -> None:
    test = error_test(lambda _: "robust-rage", near_tie(gap=0.05), true_scale=6.0, runs=150)
    assert test.rejected
