"""The model's test where noise levels are unknown: exact for a right model, sharp for a wrong
one.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from surefoot.algorithms.fitting import (
    FitTest,
    Strayed,
    misfit_p_value,
    past_strays,
    spares_one,
    stray_test,
    witness,
)
from surefoot.arrays import Array
from surefoot.statistics import Phase
from tests.certify.phases import LEVEL, drawn

ROWS = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
SCALES = np.array([0.1, 5.0, 1.0, 0.5])
PHASE = Phase(0, np.array([8, 30, 9, 12]), 6)
LINE = ROWS @ np.array([2.0, -1.0])
BENT = LINE + np.array([0.0, 0.0, 1.5, 0.0])
BATCHED = np.flatnonzero([True, False, False, True])


def _past(rng: np.random.Generator, means: Array, scales: Array = SCALES) -> Strayed:
    past = drawn(rng, PHASE, scales, means)
    variances = np.maximum(past.scatter / (PHASE.counts - 1), 1e-300)
    return past_strays(ROWS, PHASE.counts, past.sums, variances)


def _tests(means: Array, n: int, seed: int, scales: Array = SCALES) -> list[FitTest]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        test = stray_test(ROWS, _past(rng, means, scales), drawn(rng, PHASE, scales, means))
        assert test is not None
        found.append(test)
    return found


@pytest.mark.parametrize("ratio", [1.0, 4.0, 10.0, 25.0])
def test_a_right_model_gives_uniform_p_values(ratio: float) -> None:
    scales = np.array([1.0, ratio, 1.0, ratio])
    p_values = [test.against_replicates for test in _tests(LINE, 600, seed=1, scales=scales)]
    assert stats.kstest(np.array(p_values, dtype=float), "uniform").pvalue > LEVEL


def test_a_wrong_model_is_found_out() -> None:
    p = misfit_p_value(tuple(_tests(BENT, 12, seed=2)))
    assert p is not None
    assert p < 1e-4


def test_nothing_is_said_without_pairs_beyond_the_dimension() -> None:
    phase = Phase(0, np.array([6, 0, 0, 6]), 6)
    rng = np.random.default_rng(3)
    assert stray_test(ROWS, _past(rng, LINE), drawn(rng, phase, SCALES, LINE)) is None


def test_nothing_is_said_without_batches_or_strays() -> None:
    rng = np.random.default_rng(4)
    outcome = drawn(rng, Phase(0, PHASE.counts), SCALES, LINE)
    assert stray_test(ROWS, _past(rng, LINE), outcome) is None
    straight = _past(rng, LINE)._replace(likely=np.zeros(4))
    assert stray_test(ROWS, straight, drawn(rng, PHASE, SCALES, LINE)) is None


def test_a_simulator_without_noise_is_not_divided_by() -> None:
    rng = np.random.default_rng(5)
    assert stray_test(ROWS, _past(rng, BENT), drawn(rng, PHASE, np.zeros(4), LINE)) is None


def test_rewards_far_from_zero_are_tested_alike() -> None:
    p_values = []
    for far in (0.0, 1e6):
        rng = np.random.default_rng(6)
        past = _past(rng, BENT + far)
        test = stray_test(ROWS, past, drawn(rng, PHASE, SCALES, BENT + far))
        assert test is not None
        p_values.append(test.against_replicates)
    assert p_values[0] == pytest.approx(p_values[1], rel=1e-4)


def test_a_sign_counts_only_where_the_past_is_clear_about_it() -> None:
    outcome = drawn(np.random.default_rng(7), PHASE, SCALES, BENT)
    bend, quiet = np.array([0.0, 0.0, 1.0, 0.0]), np.full(4, 1e-4)
    clear = Strayed(LINE, bend, quiet, SCALES**2)
    p_values = {
        name: stray_test(ROWS, past, outcome)
        for name, past in {
            "right": clear,
            "wrong": clear._replace(likely=-bend),
            "unclear": clear._replace(errors=np.full(4, 1e4)),
        }.items()
    }
    right, wrong, unclear = (p_values[name].against_replicates for name in p_values)
    assert right + wrong == pytest.approx(1.0)  # type: ignore[operator]
    assert unclear == pytest.approx(2 * min(right, wrong))  # type: ignore[type-var, operator]


def test_past_strays_are_drawn_towards_zero_the_more_the_less_is_known() -> None:
    counts = np.array([100, 100, 100, 1])
    strayed = past_strays(ROWS, counts, counts * BENT, np.ones(4))
    left = BENT - strayed.fitted
    assert (np.abs(strayed.likely) <= np.abs(left)).all()
    share = strayed.likely / left
    assert share[3] < share[:3].min()


def test_a_witness_is_a_pair_that_the_others_predict() -> None:
    past = Strayed(LINE, np.zeros(4), np.ones(4), np.ones(4))
    assert witness(ROWS, past, BATCHED, 6) in (1, 2)
    known = past._replace(likely=np.array([0.0, 0.0, 0.5, 0.0]))
    assert witness(ROWS, known, BATCHED, 6) == 2
    noisy = past._replace(variances=np.array([1.0, 1.0, 100.0, 1.0]))
    assert witness(ROWS, noisy, BATCHED, 6) == 1


def test_no_witness_where_none_is_needed_or_none_can_be() -> None:
    past = Strayed(LINE, np.zeros(4), np.ones(4), np.ones(4))
    assert spares_one(ROWS, np.array([0, 1, 3]))
    assert not spares_one(ROWS, BATCHED)
    assert witness(np.eye(4), past, np.array([0, 1]), 6) is None


def test_the_p_value_holds_whenever_a_run_ends() -> None:
    """It is the smallest over all ends so far: an adversary's choice of when to stop."""
    rng, runs, level = np.random.default_rng(8), 1000, 0.05
    tests = [tuple(FitTest(float(p), 10) for p in rng.random(12)) for _ in range(runs)]
    p_values = np.array([misfit_p_value(own) for own in tests], dtype=float)
    assert misfit_p_value(tests[0]) == min(misfit_p_value(tests[0][:k]) or 1.0 for k in range(13))
    assert stats.binom.sf((p_values <= level).sum() - 1, runs, level) > LEVEL


def test_the_first_phase_counts_twice_and_no_phase_says_nothing() -> None:
    assert misfit_p_value(()) is None
    assert misfit_p_value((FitTest(0.01, 10),)) == pytest.approx(0.02)
    both = special.ndtr(2 * special.ndtri(0.01) / np.sqrt(2))
    assert misfit_p_value((FitTest(0.01, 10),) * 2) == pytest.approx(6 * both)
