"""The model's test where noise levels are unknown: exact for a right model, sharp for a wrong
one.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from surefoot.arrays import Array
from surefoot.evidence.misfit import stray_test
from surefoot.fitting import FitTest, combine
from surefoot.statistics import Phase
from tests.evidence.phases import LEVEL, drawn

ROWS = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
SCALES = np.array([0.1, 5.0, 1.0, 0.5])
PHASE = Phase(0, np.array([8, 30, 9, 12]), 6)
LINE = ROWS @ np.array([2.0, -1.0])


def _tests(means: Array, n: int, seed: int) -> list[FitTest]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        past = drawn(rng, PHASE, SCALES, means)
        now = drawn(rng, PHASE, SCALES, means)
        test = stray_test(ROWS, past.sums / PHASE.counts, past.scatter / (PHASE.counts - 1), now)
        assert test is not None
        found.append(test)
    return found


def test_a_right_model_gives_uniform_p_values() -> None:
    p_values = [test.against_replicates for test in _tests(LINE, 1500, seed=1)]
    assert stats.kstest(np.array(p_values, dtype=float), "uniform").pvalue > LEVEL


def test_a_wrong_model_is_found_out() -> None:
    bent = LINE + np.array([0.0, 0.0, 1.5, 0.0])
    p = combine(_tests(bent, 12, seed=2))
    assert p is not None
    assert p < 1e-4


def test_nothing_is_said_without_pairs_beyond_the_dimension() -> None:
    phase = Phase(0, np.array([6, 0, 0, 6]), 6)
    outcome = drawn(np.random.default_rng(3), phase, SCALES, LINE)
    assert stray_test(ROWS, LINE, SCALES**2, outcome) is None


def test_nothing_is_said_without_batches_or_a_past() -> None:
    outcome = drawn(np.random.default_rng(4), Phase(0, PHASE.counts), SCALES, LINE)
    assert stray_test(ROWS, LINE, SCALES**2, outcome) is None
    batched = drawn(np.random.default_rng(4), PHASE, SCALES, LINE)
    assert stray_test(ROWS, np.full(4, np.nan), SCALES**2, batched) is None


def test_a_simulator_without_noise_is_not_divided_by() -> None:
    outcome = drawn(np.random.default_rng(5), PHASE, np.zeros(4), LINE)
    bent = LINE + np.array([0.0, 0.3, 0.0, 0.0])
    assert stray_test(ROWS, bent, np.ones(4), outcome) is None
