"""Distances to the alternatives."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.design import exact_separation, squared_distances
from tests.design.references import exact_criterion, ragged_instance, random_weights


@pytest.mark.parametrize("seed", range(6))
def test_they_are_the_inverse_of_the_criterion_of_the_design(seed: int) -> None:
    pairs, offsets, theta = instance = ragged_instance(seed)
    weights = random_weights(np.random.default_rng(seed), len(pairs))
    leader = int(np.argmax(np.minimum.reduceat(pairs @ theta, offsets[:-1])))
    seen = (pairs.T * weights) @ pairs
    found = squared_distances(pairs, offsets, pairs @ theta, seen, leader)
    assert found[leader] == np.inf
    assert 1 / found.min() == pytest.approx(exact_criterion(instance, weights), rel=1e-6)
    best = exact_separation(*instance)
    seen = (pairs.T * best.weights) @ pairs
    found = squared_distances(pairs, offsets, pairs @ theta, seen, leader)
    assert 1 / found.min() == pytest.approx(best.value, rel=1e-6)


def test_singular_information_and_better_arms_have_no_distance() -> None:
    offsets, means = np.array([0, 1, 2]), np.array([1.0, 2.0])
    nothing = np.diag([1.0, 0.0])
    assert squared_distances(np.eye(2), offsets, means, nothing, 1).tolist() == [0.0, np.inf]
    assert squared_distances(np.eye(2), offsets, means, np.eye(2), 0).tolist() == [np.inf, 0.0]
