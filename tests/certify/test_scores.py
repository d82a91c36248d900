"""Scores: normal at a gap of zero from batches, and wealth that no unfair game makes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from surefoot.arrays import Array
from surefoot.certify import BatchScores, Certifier, Claims, Question, Rows, Stakes, WealthScores
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import (
    BOLDEST,
    LOWEST,
    batch_means,
    normal_scores,
    repeating,
    spread_means,
    student_scores,
)
from surefoot.noise.boundaries import gaussian_boundary
from surefoot.statistics import Outcome, Phase

# Phases drawn pull by pull, in which pairs differ in noise and in number of pulls.

LEVEL = 1e-3  # of tests that a right program fails once in a thousand seeds; the seeds are fixed


def drawn(
    rng: np.random.Generator, phase: Phase, scales: Array, means: Array | float = 0.0
) -> Outcome:
    """An outcome of normal rewards."""
    pairs = np.repeat(np.arange(len(scales)), phase.counts)
    rewards = np.broadcast_to(means, len(scales))[pairs]
    rewards = rewards + scales[pairs] * rng.standard_normal(len(pairs))
    return Outcome.from_rewards(phase, len(scales), pairs, rewards)


# Batches become vectors whose rows are independent, whatever the noise levels.

UNEVEN = np.array([4, 7, 23, 0, 9])
PULLED = np.array([0, 1, 2, 4])
SPREAD = np.array([1.0, 10.0, 0.1, 1.0, 3.0])


def test_batch_means_are_the_means_of_each_batch() -> None:
    phase = Phase(0, np.array([4, 5]), 2)
    outcome = Outcome.from_rewards(
        phase, 2, [0, 1, 0, 1, 1, 0, 0, 1, 1], [1, 10, 2, 20, 30, 3, 4, 40, 1000]
    )
    assert batch_means(outcome, np.array([0, 1])).tolist() == [[1.5, 15.0], [3.5, 35.0]]


def test_spread_means_average_to_the_mean_of_all_pulls_extras_included() -> None:
    outcome = drawn(np.random.default_rng(1), Phase(0, UNEVEN, 4), SPREAD, 7.0)
    averages = outcome.sums[PULLED] / UNEVEN[PULLED]
    assert np.allclose(spread_means(outcome, PULLED).mean(axis=0), averages, rtol=1e-12)


def test_rows_have_the_stated_covariance() -> None:
    """Cov(U_ib, U_jc) = (m σ_i² / n_i) if i = j and b = c, else 0: within 5 standard errors."""
    rng, m, runs = np.random.default_rng(2), 4, 6000
    phase = Phase(0, UNEVEN, m)
    vectors = np.array(
        [spread_means(drawn(rng, phase, SPREAD), PULLED).ravel() for _ in range(runs)]
    )
    variances = np.tile(m * SPREAD[PULLED] ** 2 / UNEVEN[PULLED], m)
    standardised = vectors / np.sqrt(variances)
    found = standardised.T @ standardised / runs
    assert np.abs(found - np.eye(len(found))).max() < 5 * np.sqrt(2 / runs)


def test_plain_batch_means_of_all_pulls_would_not_have_it() -> None:
    """Without the factor √(m q / n) a pair with extras has too large a variance: 4/7 of the pulls
    in batches carry 7/4 of it.
    """
    rng, m, runs = np.random.default_rng(3), 4, 4000
    phase = Phase(0, UNEVEN, m)
    values = np.array([batch_means(drawn(rng, phase, SPREAD), PULLED)[:, 1] for _ in range(runs)])
    assert np.isclose(values.var() * 7 / (m * SPREAD[1] ** 2), 7 / 4, rtol=0.06)


def test_shared_streams_use_whole_batches_only() -> None:
    """Pulls outside of the batches share no stream with anything: they must not count."""
    rule, pairs = BatchScores(np.ones(2)), np.array([0, 1])
    for shared in (True, False):
        rewards = [1.0, 2.0, 3.0, 4.0, 9.0, 1.0, 3.0, 2.0, 5.0]
        found = []
        for extra in (9.0, -700.0):
            rewards[4] = extra
            phase = Phase(0, np.array([5, 4]), 2, shared=shared)
            outcome = Outcome.from_rewards(phase, 2, [0] * 5 + [1] * 4, rewards)
            found.append(rule.means(outcome, pairs, shared))
        assert np.array_equal(*found) == shared


@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("shares", [[1 / 3] * 3, [0.2] * 5, [0.1, 0.25, 0.65]], ids=str)
def test_arms_that_are_alike_to_the_bit_are_never_told_apart(
    shares: list[float], misfit: float
) -> None:
    """Streams that are shared give all pairs one reward; a mixture of them rounds it."""
    n, m, grid = len(shares), 6, 8
    times, tau = tuple((1.4 ** np.arange(grid)).tolist()), np.array(np.inf if misfit else 0.0)
    boundary = gaussian_boundary(times, 0.049, (0.0,) * grid)
    features = np.vander(np.arange(n + 1.0), 2)
    asked = Question.worst_case(np.array([0, n, n + 1]), features, misfit)
    one = Certifier(asked, BatchScores(np.ones(n + 1)), boundary, delta=0.05)
    rng, row = np.random.default_rng(5), Rows(np.array([0, n]), np.arange(n), np.array(shares))
    for index in range(grid):
        claims = Claims(1, np.array([n]), np.array([0]), np.array([index]), row, tau)
        phase = Phase(index, np.full(n + 1, m), m, shared=True)
        alike = np.repeat(10 + rng.normal(size=(m, 1)), n + 1, axis=1)
        commitment = one.commit(phase, [claims], np.ones(n + 1))
        one.update(commitment, Outcome(index, phase.counts, alike.sum(0), alike.var(0), alike))
        assert one.walks.walk()[0] < 0.1


@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
def test_a_phase_that_has_no_batch_of_any_pair_says_nothing(misfit: float) -> None:
    boundary = gaussian_boundary((1.0, 1.4), 0.049, (0.0, 0.0))
    asked = Question.worst_case(np.arange(4), np.vander(np.arange(3.0), 2), misfit)
    one = Certifier(asked, BatchScores(np.ones(3)), boundary, delta=0.05)
    row = Rows(np.array([0, 1]), np.array([1]), np.ones(1))
    claims = Claims(0, np.array([0]), np.array([1]), np.array([1]), row, np.zeros(()))
    phase = Phase(0, np.full(3, 4), 5)
    commitment = one.commit(phase, [claims], np.ones(3))
    one.update(commitment, Outcome(0, phase.counts, np.ones(3), np.ones(3), np.zeros((5, 3))))
    assert one.survivors.all()
    assert not one.walks.walk().any()
    assert one.promised.tolist() == [-1, 1, -1]


# Scores are exactly normal at a gap of zero, and below at any other.

COUNTS, SCALES = np.array([6, 15, 40]), np.array([20.0, 1.0, 0.3])
CONTRAST = np.array([1.0, -0.7, -0.3])
values_strategy = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def _scores(means: np.ndarray, seed: int, runs: int = 3000) -> np.ndarray:
    rng, phase = np.random.default_rng(seed), Phase(0, COUNTS, 6)
    values = [
        spread_means(drawn(rng, phase, SCALES, means), np.arange(3)) @ CONTRAST for _ in range(runs)
    ]
    return student_scores(np.array(values).T, 0.0)


def test_scores_are_standard_normal_under_unequal_variances() -> None:
    scores = _scores(np.array([1.0, 1.0, 1.0]), seed=1)
    assert stats.kstest(scores, "norm").pvalue > LEVEL
    tail = int((scores > 2.326).sum())
    assert stats.binomtest(tail, len(scores), 0.01).pvalue > LEVEL


def test_pooling_the_variances_would_not_do() -> None:
    """The test above has teeth: the usual t with one variance for all pairs fails it."""
    rng, phase = np.random.default_rng(1), Phase(0, COUNTS, 6)
    outcomes = [drawn(rng, phase, SCALES) for _ in range(1500)]
    freedom = int((COUNTS - 1).sum())
    error = np.sqrt((CONTRAST**2 / COUNTS).sum())
    pooled = [
        CONTRAST @ (o.sums / COUNTS) / (error * np.sqrt(o.scatter.sum() / freedom))
        for o in outcomes
    ]
    assert stats.kstest(normal_scores(np.array(pooled), freedom), "norm").pvalue < 1e-6


def test_a_gap_below_zero_lowers_every_score() -> None:
    tied, below = _scores(np.zeros(3), seed=2), _scores(np.array([-0.5, 0.0, 0.0]), seed=2)
    assert (below < tied).all()


@given(values_strategy, st.floats(0, 10))
def test_a_shift_raises_the_score(values: list[float], shift: float) -> None:
    given_values = np.array(values)
    assert student_scores(given_values, shift) >= student_scores(given_values, 0.0) - 1e-9


@pytest.mark.parametrize("m", [2, 6, 30])
def test_values_that_are_all_alike_say_nothing_or_the_worst(m: int) -> None:
    assert student_scores(np.full(m, -1e-3), 0.0) == LOWEST
    assert student_scores(np.full(m, 0.1), 0.0) == 0
    assert student_scores(np.zeros(m), 0.0) <= 0
    assert student_scores(np.full(m, -1.0), 2.0) <= 0


@pytest.mark.parametrize("m", [2, 6, 30])
def test_noise_that_cancelled_leaves_rounding(m: int) -> None:
    """A difference that is known says as much as one that varies by 1e-12 of it."""
    known = student_scores(np.full(m, 0.1), 0.0, 1e-12)
    varying = student_scores(0.1 + 1e-13 * np.linspace(-1, 1, m) / np.std(np.linspace(-1, 1, m)), 0)
    assert 6 < known <= varying + 1
    assert student_scores(np.full(m, -1e-3), 0.0, 1e-12) == LOWEST
    assert student_scores(np.zeros(m), 0.0, 1e-12) == 0
    assert student_scores(np.full(m, 0.1), -0.2, 1e-12) == LOWEST


@pytest.mark.parametrize("m", [2, 6, 30])
def test_rounding_of_what_is_added_up_is_no_difference(m: int) -> None:
    rounding = 1e-15 * (1 + np.linspace(0, 0.1, m))
    assert student_scores(rounding, 0.0, 1e-12) > 2
    assert student_scores(rounding, 0.0, 0.0, 10.0) == 0
    assert 0 <= student_scores(rounding, 0.0, 1e-12, 10.0) < 1e-3
    assert student_scores(rounding, 0.1, 1e-12, 10.0) > 6  # a tolerance is no rounding


def test_batches_that_repeat_are_told_from_those_that_vary() -> None:
    sums = np.array([[1.0, 1.0, 0.1 + 0.2], [2.0, 1.5, 0.3], [3.0, 1.0, 0.9]])
    outcome = Outcome(0, np.full(3, 3), sums.sum(axis=0), np.ones(3), sums)
    assert repeating(outcome, np.arange(3)).tolist() == [False, True, True]
    assert repeating(Outcome(0, np.full(3, 3), np.ones(3), np.ones(3)), np.arange(2)).all()


def test_values_alike_up_to_rounding_are_alike() -> None:
    assert student_scores(1e6 + np.array([0.0, 1e-9, -1e-9, 0.0]), 0.0) == 0


def test_large_scores_keep_their_digits() -> None:
    scores = normal_scores(np.array([-30.0, -5.0, 0.0, 5.0, 30.0]), 9)
    assert np.allclose(scores, -scores[::-1])
    expected = stats.norm.isf(stats.t.sf([5.0, 30.0], 9))
    assert np.allclose(scores[3:], expected, rtol=1e-9)


def test_no_score_is_infinite() -> None:
    assert np.isfinite(normal_scores(np.array([-np.inf, 1e200, np.inf]), 29)).all()
    assert normal_scores(np.array(-np.inf), 29) == LOWEST


# A gambler's wealth: no game that is not in his favour makes him rich.


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
