"""Thompson samples of who matters, and pairs that test a model."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.assumptions import Strayed
from surefoot.arrays import Array
from surefoot.plan.pilot import draw_best_arms, spares_one, witness
from surefoot.plan.view import View

OFFSETS = np.array([0, 2, 4, 6])
ALIVE = np.ones(3, dtype=bool)
MEANS = np.array([1.0, 0.5, 0.4, 3.0, -5.0, 3.0])
ROWS = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
LINE = ROWS @ np.array([2.0, -1.0])
BATCHED = np.flatnonzero([True, False, False, True])


def guessed(deviations: Array | float) -> View:
    alone = np.broadcast_to(np.square(deviations), (6,))
    return View(MEANS, np.zeros((6, 0)), alone, np.ones(6))


def test_the_same_seed_gives_the_same_draw_best_arms() -> None:
    first, second, other = (
        draw_best_arms(guessed(0.3), OFFSETS, ALIVE, seed) for seed in (7, 7, 8)
    )
    assert np.array_equal(first.interest, second.interest)
    assert not np.array_equal(first.interest, other.interest)
    assert np.isclose(first.best.sum(), 1)
    assert np.isclose(first.interest.sum(), 1)


def test_who_is_clearly_best_is_best_and_the_worst_pairs_of_the_best_two_matter() -> None:
    found = draw_best_arms(guessed(1e-6), OFFSETS, ALIVE, 1)
    assert found.best.tolist() == [1, 0, 0]
    assert found.interest.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_eliminated_arms_do_not_matter() -> None:
    found = draw_best_arms(guessed(0.1), OFFSETS, np.array([False, True, True]), 1)
    assert found.best[0] == 0
    assert not found.interest[:2].any()


def test_a_pair_of_which_little_is_known_is_of_interest() -> None:
    deviations = np.array([0.01, 0.01, 0.01, 3.0, 0.01, 0.01])
    assert draw_best_arms(guessed(deviations), OFFSETS, ALIVE, 1).interest[3] > 0.05


def test_what_all_means_have_in_common_decides_nothing() -> None:
    """A doubt about the level of all pairs at once leaves no doubt about who is best."""
    common = guessed(1e-6)._replace(located=np.full((6, 1), 100.0))
    assert draw_best_arms(common, OFFSETS, ALIVE, 1).best.tolist() == [1, 0, 0]


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
