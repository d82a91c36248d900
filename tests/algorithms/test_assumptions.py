"""Tests of the model and of the noise: exact where these hold, sharp where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from surefoot.algorithms.assumptions import (
    FitTest,
    Strayed,
    combine,
    equal_variances,
    lack_of_fit,
    misfit_p_value,
    past_strays,
    stray_test,
)
from surefoot.arrays import Array
from surefoot.experiments.instances import random_robust
from surefoot.simulate import LinearSimulator, TableSimulator
from surefoot.statistics import Outcome, Phase
from tests.certify.test_scores import LEVEL, drawn

ROWS = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
SCALES = np.array([0.1, 5.0, 1.0, 0.5])
PHASE = Phase(0, np.array([8, 30, 9, 12]), 6)
LINE = ROWS @ np.array([2.0, -1.0])
BENT = LINE + np.array([0.0, 0.0, 1.5, 0.0])
PROBLEM, THETA = random_robust(4, 3, 3)
COUNTS = np.full(PROBLEM.n_pairs, 4)


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


def simulated(seed: int, counts: np.ndarray = COUNTS, bend: float = 0.0) -> Outcome:
    simulator = LinearSimulator(PROBLEM, THETA, 1.0, seed=seed)
    simulator.means = simulator.means + bend * np.sin(7.0 * np.arange(PROBLEM.n_pairs))
    return simulator.pull(Phase(0, counts))


class TestLackOfFit:
    def test_its_p_value_is_uniform_when_the_model_holds(self) -> None:
        counts = np.array([3, 0, 2, 5, 1, 4, 2, 0, 3, 1, 2, 6])
        p_values = [
            lack_of_fit(PROBLEM.pairs, np.ones(12), simulated(s, counts)).against_replicates
            for s in range(800)
        ]
        assert stats.kstest(np.array(p_values, dtype=float), "uniform").pvalue > 1e-3

    def test_known_scales_need_no_replicates(self) -> None:
        single = [
            lack_of_fit(PROBLEM.pairs, np.ones(12), simulated(s, np.ones(12, dtype=np.int64)), True)
            for s in range(400)
        ]
        assert all(test.against_replicates is None for test in single)
        assert stats.kstest([test.against_scale for test in single], "uniform").pvalue > 1e-3

    def test_known_scales_keep_many_phases_within_their_level_and_add_power(self) -> None:
        """Twelve small phases: under a bend the scale finds what the replicates cannot."""
        counts, ones = np.array([2, 0, 1, 2, 1, 1, 2, 0, 1, 1, 1, 2]), np.ones(12)

        def combined(run: int, bend: float, known: bool) -> float:
            phases = [simulated(1000 * run + s, counts, bend=bend) for s in range(12)]
            p_value = combine([lack_of_fit(PROBLEM.pairs, ones, phase, known) for phase in phases])
            assert p_value is not None
            return p_value

        right = np.array([combined(run, 0.0, True) for run in range(400)])
        for level in (0.01, 0.1, 0.3):
            assert stats.binom.sf((right < level).sum() - 1, 400, level) > 1e-3
        assert (right < 0.1).sum() > 8  # and not far below: doubled once, not in every phase
        bent = np.array(
            [[combined(run, 1.0, known) for known in (False, True)] for run in range(60)]
        )
        caught = (bent < 0.01).mean(axis=0)
        assert caught[1] > caught[0] + 0.1

    def test_it_is_small_when_the_rewards_bend(self) -> None:
        p_values = [
            lack_of_fit(
                PROBLEM.pairs, np.ones(12), simulated(s, 25 * COUNTS, bend=1.0)
            ).against_replicates
            for s in range(20)
        ]
        assert max(p for p in p_values if p is not None) < 1e-6

    def test_it_does_not_depend_on_the_units_of_the_rewards(self) -> None:
        outcome = simulated(1)
        larger = Outcome(0, outcome.counts, 1e6 * outcome.sums, 1e12 * outcome.scatter)
        ones = np.ones(12)
        assert lack_of_fit(PROBLEM.pairs, ones, larger).against_replicates == pytest.approx(
            lack_of_fit(PROBLEM.pairs, ones, outcome).against_replicates, rel=1e-6
        )

    @pytest.mark.parametrize(
        "counts",
        [
            np.eye(12, dtype=np.int64)[0] * 9,  # one pair
            np.ones(12, dtype=np.int64),  # no replicates
            np.r_[
                [5, 0, 0, 5, 0, 0, 5], np.zeros(5, dtype=np.int64)
            ],  # as many pairs as dimensions
        ],
    )
    def test_too_little_to_tell(self, counts: np.ndarray) -> None:
        assert (
            lack_of_fit(PROBLEM.pairs, np.ones(12), simulated(0, counts)).against_replicates is None
        )


class TestCombine:
    def test_of_uniform_phases_is_uniform(self) -> None:
        generator = np.random.default_rng(0)
        combined = [
            combine(
                [
                    FitTest(float(p), n)
                    for p, n in zip(generator.uniform(size=3), (10, 200, 5), strict=True)
                ]
            )
            for _ in range(800)
        ]
        assert stats.kstest(np.array(combined, dtype=float), "uniform").pvalue > 1e-3

    def test_untestable_phases_are_left_out(self) -> None:
        assert combine([FitTest(None, 10), FitTest(0.03, 20)]) == pytest.approx(0.03)
        assert combine([FitTest(None, 10)]) is None
        assert combine([]) is None

    def test_extreme_p_values_stay_finite(self) -> None:
        assert combine([FitTest(0.0, 10), FitTest(0.5, 10)]) == pytest.approx(0.0, abs=1e-100)
        assert combine([FitTest(1.0, 10), FitTest(1.0, 10)]) == pytest.approx(1.0)


class TestEqualVariances:
    def test_it_is_bartletts_test(self) -> None:
        generator = np.random.default_rng(0)
        groups = [generator.standard_normal(n) * s for n, s in ((12, 1.0), (30, 1.5), (9, 0.8))]
        freedom = np.array([len(g) - 1.0 for g in groups])
        scatter = np.array([((g - g.mean()) ** 2).sum() for g in groups])
        assert equal_variances(freedom, scatter) == pytest.approx(stats.bartlett(*groups).pvalue)

    def test_too_little_to_tell(self) -> None:
        assert equal_variances(np.array([4.0, 4.0]), np.array([3.0, 5.0])) is None
        assert equal_variances(np.array([20.0, 1.0]), np.array([3.0, 5.0])) is None


def test_deviations_within_a_stated_misfit_are_no_lack_of_fit():
    """At a corner of ±0.1 the plain test rejects; the p-value that allows for it is not small."""
    rows, scales = np.column_stack([np.ones(8), np.linspace(-1, 1, 8)]), np.full(8, 0.5)
    means = 0.1 * np.array([1, -1, -1, 1, 1, -1, -1, 1])
    plain, stated = [], []
    for seed in range(60):
        simulator = TableSimulator(means, 0.5, seed)
        outcome = simulator.pull(Phase(0, np.full(8, 400)))
        plain.append(lack_of_fit(rows, scales, outcome, True))
        stated.append(lack_of_fit(rows, scales, outcome, True, 0.1))
    assert np.mean([test.against_scale < 0.05 for test in plain]) > 0.9
    assert np.mean([test.against_scale < 0.05 for test in stated]) <= 0.05
    assert np.mean([test.against_replicates < 0.05 for test in stated]) <= 0.05
    assert [test.squares for test in plain] == [test.squares for test in stated]
    smaller = [lack_of_fit(rows, scales, outcome, True, 0.01).against_scale]
    assert smaller[0] < 0.05
