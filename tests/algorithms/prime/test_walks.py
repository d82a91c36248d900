"""Walks: what settles a pair, and when every choice of worst pairs has crossed."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.statistic import Challenge
from surefoot.algorithms.prime.walks import Walks

OFFSETS = np.array([0, 5, 10, 15, 20])


def challenge(challenger: int, arms: list[int], pairs: int) -> Challenge:
    shape = (pairs, len(arms))
    return Challenge(
        challenger, np.array(arms), np.zeros((*shape, 1)), np.ones(shape), np.zeros(shape)
    )


def test_a_challenger_that_changes_and_comes_back_keeps_one_block() -> None:
    walks = Walks(OFFSETS)
    first, second = (
        np.array([[1.0], [3.0], [2.0], [5.0], [4.0]]),
        np.array([[4.0], [1.0], [2.0], [9.0], [9.0]]),
    )
    for challenger, values in ((0, first), (1, second), (0, second)):
        walks.add(challenge(challenger, [2], 5), 2 * values, 2 * (values + 1.0))
    assert walks.walk[2] == pytest.approx(2 * ((first + second).min() + second.min()))
    assert walks.eased_walk(0)[2] == pytest.approx(walks.walk[2] + 2 * 2)
    assert walks.eased_walk(3)[2] == walks.walk[2]
    assert walks.held_by(0)[2].min() == pytest.approx(walks.walk[2])


def test_an_arm_is_out_only_once_every_choice_of_worst_pairs_has_crossed() -> None:
    """Two challengers in turn; all 25 choices of their worst pairs are followed, with and without
    an ease.
    """
    level, out_in_turn = 6.0, 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        walks, first, second, eased = (
            Walks(OFFSETS),
            np.zeros(5),
            np.zeros(5),
            np.zeros(5),
        )
        crossed = np.zeros((5, 5), dtype=bool)
        crossed_or_near = crossed.copy()
        out = False
        while not out:
            challenger, values = int(generator.integers(2)), generator.normal(0.4, 1.0, 5)
            ease = 0.1 if challenger == 0 else 0.0
            walks.add(challenge(challenger, [2], 5), values[:, None], values[:, None] + ease)
            first, second = first + values * (challenger == 0), second + values * (challenger == 1)
            eased = eased + (values + ease) * (challenger == 0)
            crossed |= first[:, None] + second >= level
            crossed_or_near |= crossed | (eased[:, None] + second >= level)
            out, near = bool(walks.walk[2] >= level), bool(walks.eased_walk(0)[2] >= level)
            assert crossed.all() or not out
            assert crossed_or_near.all() or not near
            walks.settle(np.asarray(level))
            assert np.isfinite(walks.walk).all()
        out_in_turn += first.min() + second.min() < level
    assert out_in_turn > 20  # the unluckiest choice crossed at another look than the last one
