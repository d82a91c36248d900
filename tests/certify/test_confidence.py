"""Confidence: one minus the p-value of the least convincing arm, over all looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.certify import (
    Certifier,
    GaussianBoundary,
    MixtureBoundary,
    Question,
    ScaleScores,
    Stakes,
    WealthBoundary,
    WealthScores,
)
from surefoot.certify.boundary import crossing
from tests.certify.by_hand import claims, told

DELTA = 0.05
THREE = np.arange(4)  # offsets of three arms, a pair each


def certifier(
    n_looks: int = 1, a: float = 6.0, tolerance: float = 0.0, offsets: np.ndarray = THREE
) -> Certifier:
    """Return a certifier that compares pairs, with levels √(a t) at times 1, 2, …"""
    question = Question.worst_case(offsets, np.eye(offsets[-1]), np.inf)
    boundary = GaussianBoundary(np.arange(1.0, n_looks + 1), np.zeros(n_looks), a)
    scores = ScaleScores(np.ones(offsets[-1]))
    return Certifier(question, scores, boundary, delta=DELTA, tolerance=tolerance)


def test_one_look_is_as_sure_as_its_least_score() -> None:
    one = told(certifier(), claims(0, [0], {1: 1, 2: 2}), [1.5, -0.5, 0.25])
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(1.25))


def test_nothing_is_sure_of_arms_that_were_not_tested() -> None:
    """Confidence is 0 before any rewards, with a rival untested, and of arms without a claim."""
    assert certifier().confidence(0)() == 0
    one = told(certifier(), claims(0, [0], {1: 1}), [2.0, 0.0, 0.0])
    assert [one.confidence(leader)() for leader in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("lead", [-2.0, -0.5, 0.0])
def test_a_walk_that_is_not_above_zero_proves_nothing(lead: float) -> None:
    one = told(certifier(), claims(0, [0], {1: 1, 2: 2}), [lead, 0.0, -3.0])
    assert one.confidence(0)() == 0


@pytest.mark.parametrize("order", [(2.0, -0.5), (0.1, 1.7)])
def test_the_strongest_look_counts_at_the_price_of_both(order: tuple[float, float]) -> None:
    """W is T at time 1 and T + T' at time 2; the strength is the larger W² / t."""
    two = certifier(n_looks=2)
    for clock, lead in enumerate(order):
        told(two, claims(0, [0], {1: 1, 2: 2}, clock), [lead, 0.0, 0.0])
    first, last = order[0], sum(order)
    height = max(first, last / math.sqrt(2))
    assert two.confidence(0)() == pytest.approx(1 - crossing((1.0, 2.0), (height, height)))


def test_later_rewards_leave_the_confidence_of_a_moment() -> None:
    two = told(certifier(n_looks=2), claims(0, [0], {1: 1, 2: 2}), [1.0, 0.0, 0.0])
    then = two.confidence(0)
    told(two, claims(0, [0], {1: 1, 2: 2}, 1), [2.0, 0.0, 0.0])
    assert then() == pytest.approx(1 - crossing((1.0, 2.0), (1.0, 1.0)))
    assert two.confidence(0)() > then()


def test_a_tolerance_eases_the_leader_and_nobody_else() -> None:
    """Arm 1 challenges arm 0 as well: its lead is eased for arm 1 alone."""
    one = certifier(tolerance=0.5, offsets=np.arange(3))
    told(one, claims(0, [0], {1: 1}), [0.75, 0.0])
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(1.25))
    two = certifier(2, tolerance=0.5, offsets=np.arange(3))
    told(two, claims(1, [1], {0: 0}), [0.0, 0.75])
    told(two, claims(0, [0], {1: 1}), [0.25, 0.0])
    assert two.confidence(0)() == pytest.approx(1 - crossing((1.0, 2.0), (0.75, 0.75)))
    assert two.confidence(1)() == pytest.approx(1 - crossing((1.0, 2.0), (1.25, 1.25)))


def test_who_is_near_enough_is_sure_to_be_so() -> None:
    """With a tolerance of 2, a lead of 1 shows that arm 1 is no better than arm 0 beyond it."""
    one = told(certifier(tolerance=2.0, offsets=np.arange(3)), claims(0, [0], {1: 1}), [1.0, 0.0])
    assert one.survivors.all()
    assert (one.answer(), one.rivals(0).any(), one.rivals(1).any()) == (0, False, True)
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(3.0))


def test_a_leader_that_is_out_is_not_trusted() -> None:
    one = told(certifier(offsets=np.arange(3)), claims(0, [0], {1: 1}), [3.0, 0.0])
    assert one.survivors.tolist() == [True, False]
    assert one.confidence(1)() == 0
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(3.0))


@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_arms_that_fell_by_settling_count_as_delta(tolerance: float) -> None:
    """Point 0 crosses at the first look and falls back, point 1 at the second.

    No single look shows both above the level, so the p-value of the sums alone is larger than δ.
    """
    two = certifier(2, a=4.0, tolerance=tolerance, offsets=np.array([0, 2, 3]))
    told(two, claims(0, [0, 1], {1: 2}), [2.5, 0.5, 0.0])
    assert two.survivors.all()
    assert two.walks.held(0)[1].tolist() == [np.inf, pytest.approx(0.5)]
    told(two, claims(0, [0, 1], {1: 2}, 1), [-1.5, 3.0, 0.0])
    assert two.survivors.tolist() == [True, False]
    assert two.confidence(0)() == pytest.approx(1 - DELTA)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_wealth_is_as_sure_as_one_over_it(reward: float) -> None:
    """One stake λ = 0.3 / (0.6 + 0.3²), and one batch, won or lost."""
    question = Question.worst_case(np.arange(3), np.eye(2), np.inf)
    scores, boundary = WealthScores(np.full(2, 0.5)), WealthBoundary(DELTA)
    one = Certifier(question, scores, boundary, delta=DELTA)
    guess = Stakes(np.full((1, 1), 0.0), np.ones((1, 1)), np.full((1, 1), 0.6), 0.3)
    told(one, claims(0, [0], {1: 1}, stakes=guess), [reward, 1 - reward], 1, batches=1)
    stake = 0.3 / (0.6 + 0.3**2)
    expected = math.log1p(stake * (2 * reward - 1))
    assert one.walks.walk() == pytest.approx([0.0, expected])
    assert one.confidence(0)() == pytest.approx(max(0.0, 1 - math.exp(-expected)))


def test_a_mixture_is_as_sure_as_one_over_its_martingale() -> None:
    boundary = MixtureBoundary(np.ones(1), np.ones(1), np.ones(1), DELTA)
    for walk in (-1.0, 0.25, 2.0):
        expected = min(1.0, math.exp(0.5 - walk))
        strength = boundary.strength(np.zeros(1, dtype=np.int64), np.array([walk]))
        assert boundary.p_value(float(strength[0])) == pytest.approx(expected)
