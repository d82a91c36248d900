from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from surefoot.algorithms.peers.bernoulli import (
    hoeffding_bounds,
    kl,
    kl_bounds,
    proved_levels,
)


@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.02, 0.3, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("level", [1e-6, 0.01, 0.3, 3.0, 20.0])
def test_bounds_solve_their_equation(mean: float, level: float) -> None:
    lower, upper = (float(b[0]) for b in kl_bounds(np.array([mean]), np.array([level])))
    assert 0 <= lower <= mean <= upper <= 1

    def missing(q: float) -> float:
        return float(kl(np.array([mean]), np.array([q]))[0]) - level

    if mean < 1 and missing(1 - 1e-15) > 0:
        assert upper == pytest.approx(optimize.brentq(missing, mean, 1 - 1e-15), abs=1e-7)
    if mean > 0 and missing(1e-15) > 0:
        assert lower == pytest.approx(optimize.brentq(missing, 1e-15, mean), abs=1e-7)


def test_bounds_of_coins_are_narrower() -> None:
    means, levels = np.linspace(0, 1, 11), np.full(11, 0.1)
    for own, wide in zip(kl_bounds(means, levels), hoeffding_bounds(means, levels), strict=True):
        assert (np.abs(own - means) <= np.abs(wide - means) + 1e-9).all()


def test_proved_levels_sum_to_delta() -> None:
    """Two sides of four pairs at all numbers of pulls; the tail of the sum is 10 N^(−0.1)."""
    n = np.arange(1, 200_001)
    levels = np.array([proved_levels(np.array([k, 1, 1, 1]), 0.1)[0] for k in (1, 10, 200_000)])
    constant = levels[0]
    assert levels[1:] - constant == pytest.approx(1.1 * np.log([10, 200_000]))
    spent = 8 * np.exp(-constant) * ((n**-1.1).sum() + 10 * n[-1] ** -0.1)
    assert spent == pytest.approx(0.1, rel=1e-3)
