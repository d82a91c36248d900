"""Where PRIME pulls next: what it steers by, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.allocation import Allocation, Allocator, Race
from surefoot.algorithms.prime.coordinates import Coordinates, Known, coordinates_for
from surefoot.algorithms.prime.finishing import whitened
from surefoot.algorithms.prime.schedule import Look
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array
from surefoot.problem.problem import RobustProblem

LOOK = Look(variance=3.0, weight=2.0, size=40.0, boundary=2.9)


def problem() -> tuple[RobustProblem, Array]:
    generator = np.random.default_rng(0)
    arms = generator.standard_normal((5, 3))
    theta = np.array([1.0, -0.5, 0.3])
    return RobustProblem(arms, [0.2 * generator.standard_normal((2, 3)) for _ in arms]), theta


def allocated(
    coordinates: Coordinates, theta: Array, leader: int, rivals: Array, held: Array
) -> Allocation:
    n = len(coordinates.pairs)
    known = Known(theta, whitened(coordinates.pairs, coordinates.rows, np.full(n, 10.0)))
    allocator = Allocator(coordinates, np.full(n, 1 / n), np.full(n, 1 / n), Tuning())
    return allocator.allocate(known, Race(leader, rivals, held), LOOK)  # type: ignore[arg-type]


def test_every_open_comparison_is_a_rival_and_settled_ones_are_not() -> None:
    instance, theta = problem()
    coordinates = coordinates_for(instance.pairs, np.ones(instance.n_pairs), instance.offsets)
    inner = np.linalg.lstsq(coordinates.pairs, instance.pairs @ theta, rcond=None)[0]
    leader = instance.best_arm(theta)
    rivals = np.delete(np.arange(5), leader)
    held = np.zeros((5, 2))
    weights, pulls, target = allocated(coordinates, inner, leader, rivals, held)
    assert target is not None
    assert weights.sum() == pytest.approx(1.0)
    assert pulls >= 1
    assert len(target.gaps) == 2 * 4
    assert (target.gaps > 0).all()
    held[rivals[0], 1] = np.inf
    _, _, fewer = allocated(coordinates, inner, leader, rivals, held)
    assert fewer is not None
    assert len(fewer.gaps) == 2 * 4 - 1


def test_a_leader_that_shares_all_pairs_leaves_nothing_to_steer_by() -> None:
    coordinates = coordinates_for(
        np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3), np.arange(4)
    )
    weights, pulls, target = allocated(coordinates, np.ones(2), 0, np.array([1]), np.zeros((3, 1)))
    assert target is None
    assert weights == pytest.approx(np.full(3, 1 / 3))
    assert pulls == 40
