"""A gambler's wealth: no game that is not in his favour makes him rich."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.certify import Stakes, WealthScores
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import BOLDEST


def log_wealth(values: Array, stakes: Stakes, shift: float) -> tuple[Array, Array]:
    """Bet on (m, …) values of a contrast that falls by 1 at most, plain and shifted."""
    said = Contrasts(values.reshape(len(values), 1, -1), np.ones((1, 1, 1)), stakes=stakes)
    rule = WealthScores(np.array([0.5]))
    plain, eased = (rule.scores(said, by)[0] for by in (0.0, shift))
    return np.squeeze(plain), np.squeeze(eased)


def _prior(mean: float, doubt: float, variance: float) -> Stakes:
    return Stakes(np.array(mean), np.array(doubt), np.array(variance), 0.0)


PRIORS = [
    *(_prior(0.5, 0.1, 0.2), _prior(0.0, 1.0, 0.5), _prior(-0.5, 0.01, 0.1), _prior(9, 9, 0.01)),
    _prior(-0.1, 0.05, 0.2)._replace(aim=0.3),
    *(_prior(0.3, 0.0, 0.1), _prior(0.3, 1e-160, 0.1), _prior(0.0, 0.0, 0.0)),  # no doubts at all
]


def _paths(low: float, high: float, chance: float, m: int) -> tuple[Array, Array]:
    """All 2^m paths of two-point values, (m, 2^m), and their probabilities."""
    ups = np.array(list(product([False, True], repeat=m))).T
    values = np.where(ups, high, low)
    return values, np.where(ups, chance, 1 - chance).prod(axis=0)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-1.0, 0.02), (-0.005, 1.0), (-0.3, 0.6)])
def test_the_mean_wealth_of_a_fair_game_is_one(prior: Stakes, low: float, high: float) -> None:
    """Exactly, over all paths: stakes depend on earlier batches only."""
    values, chances = _paths(low, high, -low / (high - low), 10)
    wealth = np.exp(log_wealth(values, prior, 0.0)[0])
    assert np.isclose(chances @ wealth, 1.0, rtol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_mean_wealth_of_a_bad_game_is_below_one(prior: Stakes) -> None:
    values, chances = _paths(-1.0, 1.0, 0.4, 10)
    wealth = np.exp(log_wealth(values, prior, 0.0)[0])
    assert chances @ wealth <= 1 + 1e-12


@pytest.mark.parametrize("prior", PRIORS)
def test_wealth_after_every_prefix_is_a_fair_game_too(prior: Stakes) -> None:
    """So one may look after any batch."""
    values, chances = _paths(-1.0, 0.25, 0.8, 9)
    for m in range(1, 10):
        wealth = np.exp(log_wealth(values[:m], prior, 0.0)[0])
        assert np.isclose(chances @ wealth, 1.0, rtol=1e-9)


def test_a_stake_that_sees_its_own_batch_would_fail() -> None:
    """The tests above have teeth: bets placed after the batch was seen win every time."""
    values, chances = _paths(-1.0, 1.0, 0.5, 6)
    stakes = np.where(values > 0, 0.5, 0.0)
    assert chances @ np.exp(np.log1p(stakes * values).sum(axis=0)) > 2


def test_eased_values_are_bet_on_with_the_same_stakes() -> None:
    """From the two wealths of single batches one gets one stake: (e^w − 1) / D."""
    rng = np.random.default_rng(1)
    before = rng.uniform(-1, 1, (5, 1))
    prior, shift = _prior(0.2, 0.3, 0.3), 0.1
    for last in (-0.7, 0.4, 0.9):
        values = np.vstack([before, [[last]]])
        plain, eased = log_wealth(values, prior, shift)
        plain_before, eased_before = log_wealth(before, prior, shift)
        stake = np.expm1(plain - plain_before) / last
        assert np.isclose(np.expm1(eased - eased_before) / (last + shift), stake, rtol=1e-9)
        assert eased >= plain


@pytest.mark.parametrize("prior", PRIORS)
def test_the_whole_wealth_is_never_lost(prior: Stakes) -> None:
    worst = np.full(50, -1.0)
    plain, _ = log_wealth(worst, prior, 0.0)
    assert plain >= 50 * np.log(1 - BOLDEST) - 1e-9


def test_stakes_bear_the_widest_range() -> None:
    """Pairs of scales 0.5 and 2: a contrast may fall by 4, and takes BOLDEST of the wealth."""
    bold = _prior(1.0, 0.01, 0.01)
    said = Contrasts(np.full((3, 1, 1), -4.0), np.ones((1, 1, 1)), stakes=bold)
    assert WealthScores(np.array([0.5, 2.0])).scores(said, 0.0) == pytest.approx(
        3 * np.log(1 - BOLDEST)
    )


def test_who_aims_at_a_shift_wins_where_there_is_nothing_else_to_win() -> None:
    values = np.random.default_rng(2).uniform(-1.0, 0.98, 3000)
    prior = _prior(-0.01, 0.01, 1 / 3)
    assert abs(float(log_wealth(values, prior, 0.2)[1])) < 1
    assert float(log_wealth(values, prior._replace(aim=0.2), 0.2)[1]) > 20


def test_stakes_learn_within_the_phase() -> None:
    """A gambler who expected nothing gets rich where the contrasts are clearly positive."""
    rng = np.random.default_rng(2)
    values = rng.uniform(-0.4, 1.0, 400)
    plain, _ = log_wealth(values, _prior(0.0, 0.5, 0.2), 0.0)
    assert plain > 40
