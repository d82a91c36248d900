"""Thompson samples of who matters."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.direct.learning import Draws, opinion
from surefoot.guides import Guess

OFFSETS = np.array([0, 2, 4, 6])
ALIVE = np.ones(3, dtype=bool)
MEANS = np.array([1.0, 0.5, 0.4, 3.0, -5.0, 3.0])


def test_the_same_seed_gives_the_same_opinion() -> None:
    guess = Guess(MEANS, np.full(6, 0.3))
    first, second, other = (opinion(guess, OFFSETS, ALIVE, Draws(200, seed)) for seed in (7, 7, 8))
    assert np.array_equal(first.interest, second.interest)
    assert not np.array_equal(first.interest, other.interest)


def test_shares_add_up() -> None:
    view = opinion(Guess(MEANS, np.full(6, 0.3)), OFFSETS, ALIVE, Draws(200, 1))
    assert np.isclose(view.best.sum(), 1)
    assert np.isclose(view.interest.sum(), 1)


def test_who_is_clearly_best_is_best_and_the_worst_pairs_of_the_best_two_matter() -> None:
    view = opinion(Guess(MEANS, np.full(6, 1e-6)), OFFSETS, ALIVE, Draws(200, 1))
    assert view.best.tolist() == [1, 0, 0]
    assert view.interest.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_eliminated_arms_do_not_matter() -> None:
    alive = np.array([False, True, True])
    view = opinion(Guess(MEANS, np.full(6, 0.1)), OFFSETS, alive, Draws(200, 1))
    assert view.best[0] == 0
    assert not view.interest[:2].any()


def test_a_pair_of_which_little_is_known_is_of_interest() -> None:
    deviations = np.array([0.01, 0.01, 0.01, 3.0, 0.01, 0.01])
    view = opinion(Guess(MEANS, deviations), OFFSETS, ALIVE, Draws(200, 1))
    assert view.interest[3] > 0.05
