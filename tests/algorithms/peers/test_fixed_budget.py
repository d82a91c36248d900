from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms import StopReason
from surefoot.algorithms.peers.fixed_budget import spread_evenly, topped_up
from surefoot.errors import InputError
from tests.algorithms.peers.games import slippage, solved

NAMES = ("r-ocba", "ar-ocba", "equal")


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_budget_is_spent_without_a_certificate(name: str) -> None:
    result = solved(name, slippage(4, 3), budget=777)
    assert result.samples == 777
    assert result.counts.min() >= 20
    assert result.reason is StopReason.NO_CERTIFICATE
    assert result.arm == np.argmax(result.values)


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_is_needed(name: str) -> None:
    with pytest.raises(InputError, match="never stops by itself: give a budget"):
        solved(name, slippage(4, 3))


def test_equal_pulls() -> None:
    assert spread_evenly(3, 8).tolist() == [2, 3, 3]
    assert np.ptp(solved("equal", slippage(4, 3), budget=1000).counts) <= 1


def test_the_most_wanting_pairs_come_first() -> None:
    added = topped_up(np.array([1.0, 1.0, 2.0]), np.array([50, 10, 0]), 20)
    assert added.sum() == 20
    assert added[0] == 0
    assert added[2] > added[1] > 0


@pytest.mark.parametrize("name", ["r-ocba", "ar-ocba"])
def test_pulls_go_to_the_best_arm_and_the_worst_pair_of_its_rivals(name: str) -> None:
    problem_and_means = slippage(4, 3)
    counts = solved(name, problem_and_means, scale=2.0, budget=6000).counts.reshape(4, 3)
    critical = np.zeros((4, 3), dtype=bool)
    critical[0], critical[1:, 0] = True, True
    assert counts[critical].sum() > 0.85 * counts.sum()
    assert counts[critical].min() > 2 * counts[~critical].max()


def test_a_noisier_pair_gets_more() -> None:
    scales = np.ones(12)
    scales[0] = 3.0
    for name in ("r-ocba", "ar-ocba"):
        counts = solved(name, slippage(4, 3), scale=scales, budget=4000).counts
        assert counts[0] > 2 * counts[1:3].max()
