"""Sharing out a phase's pulls: the search climbs, and what it finds beats an even split."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from surefoot.algorithms.prime.direct.shares import (
    Comparisons,
    Need,
    Needs,
    climb,
    first_hope,
    log_chance,
)

# two pairs of a leader (0, 1) against three rivals (2, 3, 4); one is close, one is noisy
FIRST, SECOND = np.array([0, 0, 0, 1, 1, 1]), np.array([2, 3, 4, 2, 3, 4])
GAPS = np.array([0.1, 1.0, 0.8, 0.6, 1.5, 1.3])
COMPARISONS = Comparisons(FIRST, SECOND, GAPS, np.array([[1.0] * 6, [1.0, 1.0, 25.0] * 2]))
EVEN = np.full(5, 0.2)


def _need(slope: float, evidence: float, wealth: float) -> Need:
    return Need(400.0, slope, np.full(6, evidence), np.full(6, wealth), np.full(6, 1.2))


NEEDS = {"scores": _need(1.0, 2.5, 0.0), "wealth": _need(0.5, 0.0, 3.0)}


def test_the_chance_is_that_of_the_formula() -> None:
    need = NEEDS["scores"]
    variances = COMPARISONS.variances[0] / EVEN[FIRST] + COMPARISONS.variances[1] / EVEN[SECOND]
    signal = GAPS * np.sqrt(need.pulls / variances)
    expected = special.log_ndtr((signal - 2.5) / 1.2).sum()
    assert np.isclose(log_chance(COMPARISONS, need, EVEN), expected, rtol=1e-6)


def test_the_horizon_is_the_first_with_hope_or_the_best() -> None:
    pulls = np.array([100.0, 400.0, 1600.0, 6400.0])
    need = NEEDS["scores"]
    rows = (np.tile(kind, (4, 1)) for kind in (need.evidence, need.wealth, need.spreads))
    needs = Needs(pulls, need.slope, *rows)
    chances = [log_chance(COMPARISONS, need._replace(pulls=n), EVEN) for n in pulls]
    assert chances == sorted(chances)
    between = (chances[1] + chances[2]) / 2
    assert first_hope(COMPARISONS, needs, EVEN, between) == 2
    assert first_hope(COMPARISONS, needs, EVEN, 0.0) == 3


@pytest.mark.parametrize("kind", NEEDS)
def test_what_is_found_beats_an_even_split_and_is_nearly_best(kind: str) -> None:
    need, shares = NEEDS[kind], EVEN.copy()
    climb(COMPARISONS, need, shares)
    assert np.isclose(shares.sum(), 1)
    found = log_chance(COMPARISONS, need, shares)
    assert found > log_chance(COMPARISONS, need, EVEN) + 0.05

    def short(logits: np.ndarray) -> float:
        return -log_chance(COMPARISONS, need, special.softmax(logits))

    precise = {"maxiter": 4000, "xatol": 1e-6, "fatol": 1e-9}
    best = -optimize.minimize(short, np.zeros(5), method="Nelder-Mead", options=precise).fun
    assert found >= best - 0.01


def test_every_round_climbs() -> None:
    need, shares = NEEDS["scores"], np.array([0.9, 0.025, 0.025, 0.025, 0.025])
    before = log_chance(COMPARISONS, need, shares)
    for _ in range(3):
        climb(COMPARISONS, need, shares)
        now = log_chance(COMPARISONS, need, shares)
        assert now >= before - 1e-9
        before = now


def test_a_pair_that_no_comparison_needs_gets_next_to_nothing() -> None:
    shares = np.full(6, 1 / 6)
    climb(COMPARISONS, NEEDS["scores"], shares)
    assert shares[5] < 1e-6
