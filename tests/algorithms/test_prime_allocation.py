"""What PRIME pulls: rounding keeps what a rival needs, and every phase checks the model."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime_allocation import check_pulls, counts_for, mended
from surefoot.design.finishing import Rivals, gradient_of


def close_call() -> tuple[np.ndarray, Rivals]:
    """Two unit vectors; the rival's direction lies almost along the second, and a little along the first."""
    direction = np.array([[5e-5, 1e-2]])
    return np.eye(2), Rivals(direction, np.array([1e-4]), np.array([2.0]), np.array([1.0]), 1e5)


def test_a_pair_that_rounding_lost_gets_a_pull_back() -> None:
    rows, rival = close_call()
    lost = np.array([0, 100])
    assert gradient_of(rows, lost / 100, rival)[0] > 1e3 * gradient_of(rows, lost / 100, rival)[1]
    assert mended(lost, rows, rival).tolist() == [1, 99]
    assert lost.tolist() == [0, 100]


def test_counts_that_measure_every_rival_are_left_alone() -> None:
    rows, rival = close_call()
    assert mended(np.array([1, 99]), rows, rival).tolist() == [1, 99]


@pytest.mark.parametrize("pulls", [1, 2, 7, 50, 1000])
@pytest.mark.parametrize("units", [0.0, 10.0, 1e4])
def test_a_phase_has_the_pulls_it_was_given(pulls: int, units: float) -> None:
    generator = np.random.default_rng(pulls)
    weights, spread = generator.dirichlet(np.full(40, 0.05)), generator.dirichlet(np.ones(40))
    counts = counts_for(weights, pulls, spread, generator.integers(0, 9, 40), units)
    assert counts.sum() == pulls
    assert (counts >= 0).all()


def test_weights_below_half_a_pull_get_none() -> None:
    weights = np.array([0.9, 0.096, 0.004])
    counts = counts_for(weights, 100, np.array([0.5, 0.5, 0.0]), np.array([1000, 1000, 1000]), 1e9)
    assert counts[2] <= 1  # at most a check of the model
    assert counts[0] > 80


def test_every_phase_pulls_something_off_its_design() -> None:
    weights = np.array([1.0, 0.0, 0.0, 0.0])
    counts = counts_for(weights, 60, np.full(4, 0.25), np.array([500, 40, 40, 40]), 1e6)
    assert counts[1:].sum() == 2


def test_checks_go_to_pairs_that_were_left_out() -> None:
    counts = check_pulls(np.array([3, 0, 2, 0, 0]), 2)
    assert counts.sum() == 2
    assert counts[[0, 2]].sum() == 0
    assert check_pulls(np.array([1, 1]), 5).sum() == 0
