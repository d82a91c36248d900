from __future__ import annotations

import numpy as np
import pytest

from surefoot.paper.peers import (
    KINDS,
    ZONE,
    Kind,
    equal_scales,
    mean_rewards,
    unequal_scales,
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_arm_is_the_best_by_the_zone(kind: Kind) -> None:
    worst = mean_rewards(kind, 6, 4).min(axis=1)
    assert worst[0] - worst[1:].max() == pytest.approx(ZONE)


def test_slippage_leaves_all_other_pairs_equal() -> None:
    means = mean_rewards("SC", 6, 4)
    assert np.count_nonzero(means) == 5
    assert np.count_nonzero(mean_rewards("SC2", 6, 4)) == 5 * 4


def test_unequal_variances_have_the_same_average() -> None:
    equal, unequal = equal_scales(5, 5) ** 2, unequal_scales(5, 5) ** 2
    assert unequal.mean() == pytest.approx(equal.mean())
    assert (unequal.min(), unequal.max()) == (pytest.approx(1), pytest.approx(7))
