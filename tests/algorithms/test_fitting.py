from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.fitting import information, least_squares
from surefoot.experiments.instances import random_robust
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Phase

PROBLEM, THETA = random_robust(4, 3, 3)
COUNTS = np.full(PROBLEM.n_pairs, 4)


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
        outcome = LinearSimulator(PROBLEM, THETA, seed=0).pull(Phase(0, COUNTS))
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
