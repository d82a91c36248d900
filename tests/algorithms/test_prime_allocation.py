"""What PRIME pulls: rounding keeps what a rival needs, and every phase checks the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from surefoot.algorithms.prime_allocation import check_pulls, counts_for, exchanged
from surefoot.design.finishing import Rivals, appraised


def close_call() -> tuple[np.ndarray, Rivals]:
    """Two unit vectors; the rival's direction lies almost along the second, and a little along the first."""
    direction = np.array([[5e-5, 1e-2]])
    return np.eye(2), Rivals(direction, np.array([1e-4]), np.array([2.0]), np.array([1.0]), 1e5)


def test_a_pair_that_rounding_lost_gets_a_pull_back() -> None:
    rows, rival = close_call()
    lost, none_aside = np.array([0, 100]), np.array([0, 0])
    assert appraised(rows, lost / 100, rival)[1][0] > 1e3 * appraised(rows, lost / 100, rival)[1][1]
    assert exchanged(lost, none_aside, rows, rival).tolist() == [1, 99]
    assert lost.tolist() == [0, 100]
    assert exchanged(lost, np.array([1, 0]), rows, rival).tolist() == [0, 100]


def test_counts_that_measure_every_rival_are_left_alone() -> None:
    rows, rival = close_call()
    assert exchanged(np.array([1, 99]), np.array([0, 0]), rows, rival).tolist() == [1, 99]


def test_exchanges_make_finishing_likelier_and_keep_the_pulls() -> None:
    generator = np.random.default_rng(0)
    rows, directions = generator.standard_normal((12, 3)), generator.standard_normal((5, 3))
    rivals = Rivals(directions, np.full(5, 0.5), np.full(5, 2.0), np.ones(5), 60.0)
    for _ in range(20):
        before, aside = generator.integers(0, 4, 12), generator.integers(0, 2, 12)
        after = exchanged(before, aside, rows, rivals)
        assert after.sum() == before.sum()
        assert (after >= 0).all()
        likely = [log_probability(rows, (c + aside) / (c + aside).sum(), rivals) for c in (before, after)]
        assert likely[1] >= likely[0]


def log_probability(rows: np.ndarray, weights: np.ndarray, rivals: Rivals) -> float:
    lengths = np.sqrt(
        np.einsum("kd,kd->k", rivals.directions @ np.linalg.inv((rows.T * weights) @ rows), rivals.directions)
    )
    return float(special.log_ndtr(np.sqrt(rivals.pulls) * rivals.gaps / lengths - rivals.needs).sum())


@pytest.mark.parametrize("pulls", [1, 2, 7, 50, 1000])
@pytest.mark.parametrize("units", [0.0, 10.0, 1e4])
def test_a_phase_has_the_pulls_it_was_given(pulls: int, units: float) -> None:
    generator = np.random.default_rng(pulls)
    weights, spread = generator.dirichlet(np.full(40, 0.05)), generator.dirichlet(np.ones(40))
    rivals = Rivals(generator.standard_normal((6, 4)), np.full(6, 0.3), np.full(6, 2.0), np.ones(6), 500.0)
    past, rows = generator.integers(0, 9, 40), generator.standard_normal((40, 4))
    counts = counts_for(weights, pulls, spread, past, units, rows, rivals)
    assert counts.sum() == pulls
    assert (counts >= 0).all()


def test_weights_below_half_a_pull_get_none() -> None:
    weights = np.array([0.9, 0.096, 0.004])
    counts = counts_for(weights, 100, np.array([0.5, 0.5, 0.0]), np.array([1000, 1000, 1000]), 1e9, np.eye(3), None)
    assert counts[2] <= 1  # at most a check of the model
    assert counts[0] > 80


def test_every_phase_pulls_something_off_its_design() -> None:
    weights = np.array([1.0, 0.0, 0.0, 0.0])
    counts = counts_for(weights, 60, np.full(4, 0.25), np.array([500, 40, 40, 40]), 1e6, np.eye(4), None)
    assert counts[1:].sum() == 2


def test_checks_go_to_pairs_that_were_left_out() -> None:
    counts = check_pulls(np.array([3, 0, 2, 0, 0]), 2)
    assert counts.sum() == 2
    assert counts[[0, 2]].sum() == 0
    assert check_pulls(np.array([1, 1]), 5).sum() == 0
