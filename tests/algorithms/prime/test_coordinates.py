"""PRIME's coordinates: what units features and noise are given in does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.coordinates import coordinates_for

RNG = np.random.default_rng(3)
PAIRS, SCALES = RNG.normal(size=(12, 3)), RNG.uniform(0.5, 2.0, 12)
OFFSETS = np.arange(0, 13, 3)


def test_what_pulls_measure_is_the_identity_on_average() -> None:
    found = coordinates_for(PAIRS, SCALES, OFFSETS)
    assert found.dimension == 3
    assert found.rows.T @ found.rows / 12 == pytest.approx(np.eye(3), abs=1e-9)
    assert found.rows * SCALES[:, None] == pytest.approx(found.pairs)
    assert found.sizes == pytest.approx(np.sqrt((found.pairs**2).sum(axis=1)))


def test_means_that_are_linear_in_features_are_linear_in_coordinates() -> None:
    means = PAIRS @ np.array([1.0, -2.0, 0.5])
    found = coordinates_for(PAIRS, SCALES, OFFSETS)
    theta, *_ = np.linalg.lstsq(found.pairs, means, rcond=None)
    assert found.pairs @ theta == pytest.approx(means)


@pytest.mark.parametrize("units", [np.diag([1e-6, 1.0, 1e5]), RNG.normal(size=(3, 3))])
def test_other_units_of_features_only_turn_the_coordinates(units: np.ndarray) -> None:
    one, other = (coordinates_for(pairs, SCALES, OFFSETS) for pairs in (PAIRS, PAIRS @ units))
    assert other.pairs @ other.pairs.T == pytest.approx(one.pairs @ one.pairs.T, abs=1e-6)


def test_another_unit_of_rewards_leaves_what_is_measured_as_it_was() -> None:
    one, other = (coordinates_for(PAIRS, scales, OFFSETS) for scales in (SCALES, 1000 * SCALES))
    assert other.rows @ other.rows.T == pytest.approx(one.rows @ one.rows.T)
    assert other.sizes == pytest.approx(1000 * one.sizes)
