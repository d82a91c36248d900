"""The instances of others."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot import InputError
from surefoot.experiments import instances as peers


@pytest.mark.parametrize(
    ("make", "gaps"),
    [
        (peers.slippage, [1, 1, 1]),
        (peers.slippage_everywhere, [1, 1, 1]),
        (peers.monotone_means, [1, 1, 2]),
    ],
)
def test_the_first_arm_is_best_by_the_gap(make, gaps: list[float]) -> None:
    problem, means = make(3, 2, 2.0)
    assert problem.best_arm(means) == 0
    assert problem.robust_gaps(means) == pytest.approx(2 * np.array(gaps))
    assert problem.n_pairs == problem.dimension == 6


def test_games_and_tables() -> None:
    problem, means = peers.coin_game(3)
    assert problem.robust_values(means) == pytest.approx([0.45, 0.35, 0.3])
    with pytest.raises(InputError, match="choose 1, 2 or 3"):
        peers.coin_game(4)
    with pytest.raises(InputError, match="one row per arm"):
        peers.table([1.0, 2.0])
    assert peers.unequal_scales(2, 2) ** 2 == pytest.approx([1, 3, 5, 7])
