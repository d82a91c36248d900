from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms.fitting import (
    FitTest,
    combine,
    equal_variances,
    information,
    lack_of_fit,
    least_squares,
)
from surefoot.experiments.instances import random_robust
from surefoot.simulate import LinearSimulator, TableSimulator
from surefoot.statistics import Outcome, Phase

PROBLEM, THETA = random_robust(4, 3, 3)
COUNTS = np.full(PROBLEM.n_pairs, 4)


def simulated(seed: int, counts: np.ndarray = COUNTS, bend: float = 0.0) -> Outcome:
    simulator = LinearSimulator(PROBLEM, THETA, 1.0, seed=seed)
    simulator.means = simulator.means + bend * np.sin(7.0 * np.arange(PROBLEM.n_pairs))
    return simulator.pull(Phase(0, counts))


def test_least_squares_of_nothing_is_zero_and_silent(capfd: pytest.CaptureFixture[str]) -> None:
    rows = PROBLEM.pairs
    assert least_squares(rows, 0 * COUNTS, np.zeros(len(rows)), np.ones(len(rows))).tolist() == [
        0.0,
        0.0,
        0.0,
    ]
    assert capfd.readouterr().out == ""  # LAPACK itself complains about an empty system


@pytest.mark.parametrize("pulled", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("units", [1.0, 1e-7])
def test_least_squares_are_those_of_numpy(pulled: int, units: float) -> None:
    """Also with fewer pairs than dimensions, where the least norm decides, and with features of
    very unlike size.
    """
    generator = np.random.default_rng(pulled)
    rows = PROBLEM.pairs * np.array([1.0, units, 1.0])
    counts = np.where(np.arange(len(rows)) < pulled, 3, 0)
    sums, scales = (
        generator.standard_normal(len(rows)) * (counts > 0),
        generator.uniform(0.5, 2.0, len(rows)),
    )
    root = np.sqrt(counts[:pulled])
    design, target = rows[:pulled] * root[:, None], sums[:pulled] / (root * scales[:pulled])
    sizes = np.linalg.norm(design, axis=0)
    expected = np.linalg.lstsq(design / sizes, target, rcond=1e-10)[0] / sizes
    assert least_squares(rows, counts, sums, scales) == pytest.approx(expected, rel=1e-9)


class TestLeastSquares:
    def test_it_solves_the_normal_equations(self) -> None:
        outcome = simulated(0)
        scales = np.random.default_rng(0).uniform(0.5, 2.0, PROBLEM.n_pairs)
        rows = PROBLEM.pairs / scales[:, None]
        b = rows.T @ (outcome.sums / scales)
        expected = np.linalg.solve(information(rows, COUNTS), b)
        assert least_squares(rows, COUNTS, outcome.sums, scales) == pytest.approx(expected)

    def test_information_is_the_weighted_sum_of_squares(self) -> None:
        counts = np.arange(PROBLEM.n_pairs)
        expected = sum(n * np.outer(z, z) for n, z in zip(counts, PROBLEM.pairs, strict=True))
        assert information(PROBLEM.pairs, counts) == pytest.approx(expected)

    def test_columns_of_very_different_size_are_all_estimated(self) -> None:
        rows = np.array([[1e9, 0.0], [1e9, 1e-9], [0.0, 1e-9]])
        theta = np.array([2e-9, 3e9])
        estimate = least_squares(rows, np.array([2, 2, 2]), 2 * rows @ theta, np.ones(3))
        assert estimate == pytest.approx(theta)

    def test_what_was_not_measured_is_guessed_as_zero(self) -> None:
        estimate = least_squares(
            np.eye(3), np.array([2, 0, 0]), np.array([4.0, 0.0, 0.0]), np.ones(3)
        )
        assert estimate == pytest.approx([2.0, 0.0, 0.0])
        assert (
            least_squares(np.eye(3), np.zeros(3, dtype=np.int64), np.zeros(3), np.ones(3)).tolist()
            == [0.0] * 3
        )


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
