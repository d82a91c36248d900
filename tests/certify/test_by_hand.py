"""Evidence and confidence that are worked out by hand: at ties, on levels, without rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from surefoot.arrays import Array
from surefoot.certify import (
    BatchScores,
    Certifier,
    Claims,
    EqualScores,
    GaussianBoundary,
    MixtureBoundary,
    Question,
    Rows,
    ScaleScores,
    Scores,
    Stakes,
    WealthBoundary,
    WealthScores,
)
from surefoot.certify.boundary import crossing
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import LOWEST, normal_scores
from surefoot.statistics import Outcome, Phase

# Small cases whose evidence can be worked out by hand.


def rows(*each: dict[int, float]) -> Rows:
    """Return sparse rows."""
    starts = np.cumsum([0, *(len(row) for row in each)])
    columns = np.array([i for row in each for i in row], dtype=np.int64)
    return Rows(starts, columns, np.array([v for row in each for v in row.values()], dtype=float))


def claims(
    challenger: int, points: ArrayLike, rivals: dict[int, int], clock: int = 0, **changes: Any
) -> Claims:
    """Return the claims that points beat arms, each held against one point of its own.

    Args:
        rivals: the point that each arm is held against.
    """
    shares = rows(*({point: 1.0} for point in rivals.values()))
    arms, clocks = np.array(list(rivals)), np.full(len(rivals), clock)
    plain = Claims(challenger, np.asarray(points), arms, clocks, shares, np.array(0.0))
    return plain._replace(**changes)


def rewarded(
    counts: Array, means: ArrayLike, scatter: float = 0.0, batches: int = 0, index: int = 0
) -> Any:
    """Return a phase and its outcome, in which each pair has a mean and all have one scatter."""
    phase = Phase(index, counts, batches)
    sums, n = counts * np.asarray(means, dtype=np.float64), len(counts)
    by_batch = np.tile(sums / max(batches, 1), (batches, 1))
    return phase, Outcome(index, counts, sums, np.full(n, scatter), by_batch)


def told(
    certifier: Certifier, claim: Claims, means: ArrayLike, pulls: int = 2, batches: int = 0
) -> Certifier:
    """Score one phase with as many pulls of each pair, and return the certifier.

    Two pulls of two pairs, of scale 1, give means that differ with deviation 1.
    """
    counts = np.full(certifier.question.n_pairs, pulls)
    phase, outcome = rewarded(counts, means, batches=batches, index=len(certifier.scored()))
    certifier.update(certifier.commit(phase, [claim]), outcome)
    return certifier


# Evidence that is worked out by hand: at ties, on levels, and where nothing is measured.

DELTA = 0.05
TWO = np.arange(3)  # offsets of two arms, a pair each


def certifier(
    question: Question,
    scores: type[Scores] = ScaleScores,
    tolerance: float = 0.0,
    scales: float = 1.0,
) -> Certifier:
    """Return a certifier with levels 2 and √8, at times 1 and 2."""
    boundary = GaussianBoundary(np.array([1.0, 2.0]), np.zeros(2), 4.0)
    rule = scores(np.full(question.n_pairs, scales))
    return Certifier(question, rule, boundary, delta=DELTA, tolerance=tolerance)


def pairs(offsets: Array) -> Question:
    """Return a question whose pairs are compared as they are."""
    return Question.worst_case(offsets, np.eye(offsets[-1]), np.inf)


def modelled(features: Any, misfit: float = 0.0) -> Question:
    """Return a question of arms with a pair each, under a model."""
    return Question.worst_case(np.arange(len(features) + 1), np.array(features), misfit)


def test_a_walk_on_the_level_has_reached_it() -> None:
    one = told(certifier(pairs(TWO)), claims(0, [0], {1: 1}), [2.0, 0.0])
    assert one.survivors.tolist() == [True, False]


def test_an_eased_walk_on_the_level_has_reached_it() -> None:
    one = told(certifier(pairs(TWO), tolerance=0.5), claims(0, [0], {1: 1}), [1.5, 0.0])
    assert one.survivors.all()
    assert one.walks.near[0].tolist() == [False, True]


def test_a_point_on_the_level_is_settled() -> None:
    one = certifier(pairs(np.array([0, 2, 3])))
    told(one, claims(0, [0, 1], {1: 2}), [2.0, 1.0, 0.0])
    assert one.walks.held(0)[1].tolist() == [np.inf, 1.0]


def test_a_settled_point_lends_nothing_to_the_others() -> None:
    """Point 0 is settled, then falls to −5.5: point 1 is held at its own sum, 1.5."""
    one = certifier(pairs(np.array([0, 2, 3])))
    told(one, claims(0, [0, 1], {1: 2}), [2.5, 1.0, 0.0])
    told(one, claims(0, [0, 1], {1: 2}, 1), [-8.0, 0.5, 0.0])
    assert one.walks.held(0)[1].tolist() == [np.inf, 1.5]
    assert one.walks.walk().tolist() == [0.0, 1.5]


def test_points_of_who_never_challenged_see_the_walk() -> None:
    one = told(certifier(pairs(np.array([0, 1, 3]))), claims(0, [0], {1: 1}), [0.5, 0.0, 0.0])
    assert one.walks.held(1).tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_guesses_count_for_nothing_where_scales_are_stated() -> None:
    one = certifier(pairs(TWO))
    phase, outcome = rewarded(np.full(2, 2), [1.0, 0.0])
    commitment = one.commit(phase, [claims(0, [0], {1: 1})], np.full(2, 1e-6))
    one.update(commitment, outcome)
    assert commitment.variances is None
    assert one.walks.walk().tolist() == [0.0, 1.0]


@pytest.mark.parametrize("scores", [ScaleScores, EqualScores, BatchScores])
@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
def test_contrasts_that_are_not_measured_are_zero(scores: type[Scores], misfit: float) -> None:
    """Arm 1 is not pulled, or its row of shares is empty: rules that lower see zeros."""
    for counts, row in (([4, 0, 4], {1: 1.0}), ([4, 4, 4], {})):
        one = certifier(Question.worst_case(np.arange(4), np.eye(3), misfit), scores)
        phase, outcome = rewarded(np.array(counts), [7.0, 5.0, 1.0], batches=2)
        claim = claims(0, [0], {1: 1})._replace(shares=rows(row))
        shown: list[Any] = []
        commitment = one.commit(phase, [claim], np.ones(3))
        one.update(commitment, outcome, lambda _, *seen, to=shown: to.append(seen))
        ((found, said, _),) = shown
        assert not found.any()
        assert not said.values.any()
        assert not said.variances.any()


def test_a_point_that_is_seen_in_part_measures_nothing_against_nothing() -> None:
    """Pair 1, of weight 1, is not pulled, and the row of shares is empty."""
    one = certifier(Question(TWO, rows({0: 0.5, 1: 1.0}, {2: 1.0}), np.eye(3), np.inf))
    phase, outcome = rewarded(np.array([2, 0, 2]), [7.0, 0.0, 1.0])
    claim = claims(0, [0], {1: 1})._replace(shares=rows({}))
    one.update(one.commit(phase, [claim]), outcome)
    assert one.walks.walk().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("share", "walk"), [(1e-10, 0.0), (1e-13, 2.0)])
def test_a_claim_is_measured_up_to_rounding_or_not_at_all(share: float, walk: float) -> None:
    """Pair 0 alone is pulled; arm 1 has so much of a feature that was never seen."""
    one = certifier(modelled([[1.0, 0.0], [0.0, share], [0.0, 1.0]]))
    phase, outcome = rewarded(np.array([1, 0, 0]), [2.0, 0.0, 0.0])
    one.update(one.commit(phase, [claims(0, [0], {1: 1})]), outcome)
    assert one.walks.walk()[1] == pytest.approx(walk)


def test_pairs_without_features_measure_nothing() -> None:
    """They alone are pulled, and the claim is about the others."""
    one = certifier(modelled([[0.0], [0.0], [1.0], [2.0]]))
    phase, outcome = rewarded(np.array([9, 9, 0, 0]), [3.0, -3.0, 0.0, 0.0])
    one.update(one.commit(phase, [claims(3, [3], {2: 2})]), outcome)
    assert one.walks.walk().tolist() == [0.0, 0.0, 0.0, 0.0]


def test_sides_that_cancel_up_to_rounding_are_one_point() -> None:
    """Differences of pairs: 0.1 + 0.2 − 0.3 is not 0, yet no reward can tell."""
    points = rows({0: 0.1, 1: 0.2, 2: -0.3}, {0: 1.0, 1: -1.0})
    one = certifier(Question(TWO, points, np.ones((3, 1)), 0.0))
    told(one, claims(0, [0], {1: 1}), [5.0, 3.0, -9.0])
    assert one.walks.walk().tolist() == [0.0, 0.0]


def test_an_arm_may_have_more_points_than_pairs() -> None:
    """Weights of 0 are allowed as well."""
    points = rows(
        {0: 1.0, 3: 0.0}, {0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75}, {2: 1.0}, {2: 0.5, 3: 0.5}
    )
    one = certifier(Question(np.array([0, 3, 5]), points, np.eye(4), np.inf))
    told(one, claims(0, [0, 1, 2], {1: 3}), [1.0, 1.0, 0.0, 9.0])
    deviations = [1.0, math.sqrt(0.75), math.sqrt(0.8125)]
    assert one.walks.held(0)[1] == pytest.approx([1 / each for each in deviations])


UNITS = {
    "as they are": (1.0, 1.0, 1.0),
    "a tiny unit": (1.0, 1e-14, 1.0),
    "a huge unit": (1e14, 1.0, 1.0),
    "a column of zeros": (1.0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("scores", [ScaleScores, EqualScores])
def test_units_of_features_and_rewards_do_not_matter(
    name: str, scale: float, scores: type[Scores]
) -> None:
    """Three of four pairs are pulled, on one line through 0: the scores are known.

    With two pulls each, least squares tell θ = Σ x y / Σ x², of variance 1 / (2 Σ x²). The spread
    of six pulls about a line has five degrees of freedom.
    """
    x, y = np.array([1.0, 2.0, 4.0]), np.array([-1.0, 2.0, 3.0])
    features = np.column_stack([[*x, 5.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0]])
    one = certifier(modelled(features * UNITS[name]), scores, scales=scale)
    phase, outcome = rewarded(np.array([2, 2, 2, 0]), [*(scale * y), 0.0], scatter=scale**2)
    one.update(one.commit(phase, [claims(2, [2], {0: 0})]), outcome)
    theta = x @ y / (x @ x)
    expected = theta * math.sqrt(2 * x @ x)
    if scores is EqualScores:
        squares = 3 + 2 * ((y - theta * x) ** 2).sum()
        expected = float(normal_scores(np.array(expected / math.sqrt(squares / 5)), 5))
    assert one.walks.walk()[0] == pytest.approx(expected)


def test_what_a_model_allows_is_spanned_by_columns_of_mean_square_one() -> None:
    features = np.random.default_rng(3).normal(size=(9, 3)) * [1.0, 1e-13, 1e13]
    basis = modelled(features).basis
    assert basis.T @ basis / 9 == pytest.approx(np.eye(3))
    explained = basis @ (basis.T @ features) / 9
    assert explained / features == pytest.approx(np.ones((9, 3)))


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (5, 3.0)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rounding_of_large_rewards_speaks_against_a_challenger_only(
    sign: float, n: int, scale: float
) -> None:
    """A spread below 1e-13 of the rewards is raised to that where the challenger leads."""
    mean, lead, scatter = 2.0**30, sign * 2.0**-13, 1e-10
    one = certifier(modelled(np.eye(2)), EqualScores, scales=scale)
    phase, outcome = rewarded(np.full(2, n), [mean + lead, mean], scatter)
    one.update(one.commit(phase, [claims(0, [0], {1: 1})]), outcome)
    freedom, squares = 2 * n - 2, 2 * scatter / scale**2
    if sign > 0:
        squares = 1e-26 * 2 * n * mean**2 / scale**2
    t = lead / math.sqrt(squares / freedom * 2 / n) / scale
    assert one.walks.walk()[1] == pytest.approx(
        float(normal_scores(np.array(t), freedom)), rel=0.01
    )


@pytest.mark.parametrize("counts", [(2, 1), (2, 2), (9, 4)])
@pytest.mark.parametrize("lead", [-0.01, 0.01])
def test_without_a_model_the_spread_is_that_of_replicates(
    lead: float, counts: tuple[int, int]
) -> None:
    """Student's t, of a degree of freedom or more, and of no floor."""
    one, n = certifier(pairs(TWO), EqualScores, scales=2.0), np.array(counts)
    phase, outcome = rewarded(n, [lead, 0.0], scatter=1e-4)
    one.update(one.commit(phase, [claims(0, [0], {1: 1})]), outcome)
    freedom = sum(counts) - 2
    t = lead / math.sqrt(2e-4 / freedom * (1 / n).sum())
    expected = float(normal_scores(np.array(t), freedom))
    assert one.walks.walk()[1] == pytest.approx(expected)


@pytest.mark.parametrize(("lead", "score"), [(1.0, 0.0), (0.0, 0.0), (-1.0, LOWEST)])
@pytest.mark.parametrize("misfit", [0.0, 0.1])
def test_single_pulls_that_a_model_fits_tell_no_scale(
    lead: float, score: float, misfit: float
) -> None:
    """No degree of freedom is left: a lead says nothing."""
    one = certifier(modelled(np.eye(2), misfit), EqualScores)
    told(one, claims(0, [0], {1: 1}, deviation=np.array(misfit)), [lead, 0.0], pulls=1)
    assert one.walks.walk()[1] == score


@pytest.mark.parametrize(("lead", "score"), [(1.0, 0.0), (0.0, 0.0), (-1.0, LOWEST)])
def test_rewards_without_spread_say_nothing_or_the_worst(lead: float, score: float) -> None:
    one = certifier(pairs(TWO), EqualScores)
    assert told(one, claims(0, [0], {1: 1}), [lead, 0.0]).walks.walk()[1] == score


def test_batches_that_differ_count_above_rounding_only() -> None:
    """A spread of 1e-10 of the values is no rounding, one of 1e-13 is."""
    rule, ones = BatchScores(np.ones(1)), np.ones((1, 1, 1))

    def score(spread: float, shift: float = 0.0) -> float:
        values = np.array([-1.0, -1.0 + spread, -1.0 - spread]).reshape(3, 1, 1)
        return float(rule.scores(Contrasts(values, ones), shift)[0, 0])

    assert LOWEST < score(1e-10) < 0
    assert score(1e-10, 1.0) == pytest.approx(0.0, abs=1e-4)
    assert score(1e-10, 2.0) > 5
    assert [score(1e-13, shift) for shift in (0.5, 2.0)] == [LOWEST, 0.0]
    assert score(0.0, 1.0) == 0


# Confidence: one minus the p-value of the least convincing arm, over all looks.

THREE = np.arange(4)  # offsets of three arms, a pair each


def looking(
    n_looks: int = 1, a: float = 6.0, tolerance: float = 0.0, offsets: np.ndarray = THREE
) -> Certifier:
    """Return a looking that compares pairs, with levels √(a t) at times 1, 2, …"""
    question = Question.worst_case(offsets, np.eye(offsets[-1]), np.inf)
    boundary = GaussianBoundary(np.arange(1.0, n_looks + 1), np.zeros(n_looks), a)
    scores = ScaleScores(np.ones(offsets[-1]))
    return Certifier(question, scores, boundary, delta=DELTA, tolerance=tolerance)


def test_one_look_is_as_sure_as_its_least_score() -> None:
    one = told(looking(), claims(0, [0], {1: 1, 2: 2}), [1.5, -0.5, 0.25])
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(1.25))


def test_nothing_is_sure_of_arms_that_were_not_tested() -> None:
    """Confidence is 0 before any rewards, with a rival untested, and of arms without a claim."""
    assert looking().confidence(0)() == 0
    one = told(looking(), claims(0, [0], {1: 1}), [2.0, 0.0, 0.0])
    assert [one.confidence(leader)() for leader in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("lead", [-2.0, -0.5, 0.0])
def test_a_walk_that_is_not_above_zero_proves_nothing(lead: float) -> None:
    one = told(looking(), claims(0, [0], {1: 1, 2: 2}), [lead, 0.0, -3.0])
    assert one.confidence(0)() == 0


@pytest.mark.parametrize("order", [(2.0, -0.5), (0.1, 1.7)])
def test_the_strongest_look_counts_at_the_price_of_both(order: tuple[float, float]) -> None:
    """W is T at time 1 and T + T' at time 2; the strength is the larger W² / t."""
    two = looking(n_looks=2)
    for clock, lead in enumerate(order):
        told(two, claims(0, [0], {1: 1, 2: 2}, clock), [lead, 0.0, 0.0])
    first, last = order[0], sum(order)
    height = max(first, last / math.sqrt(2))
    assert two.confidence(0)() == pytest.approx(1 - crossing((1.0, 2.0), (height, height)))


def test_later_rewards_leave_the_confidence_of_a_moment() -> None:
    two = told(looking(n_looks=2), claims(0, [0], {1: 1, 2: 2}), [1.0, 0.0, 0.0])
    then = two.confidence(0)
    told(two, claims(0, [0], {1: 1, 2: 2}, 1), [2.0, 0.0, 0.0])
    assert then() == pytest.approx(1 - crossing((1.0, 2.0), (1.0, 1.0)))
    assert two.confidence(0)() > then()


def test_a_tolerance_eases_the_leader_and_nobody_else() -> None:
    """Arm 1 challenges arm 0 as well: its lead is eased for arm 1 alone."""
    one = looking(tolerance=0.5, offsets=np.arange(3))
    told(one, claims(0, [0], {1: 1}), [0.75, 0.0])
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(1.25))
    two = looking(2, tolerance=0.5, offsets=np.arange(3))
    told(two, claims(1, [1], {0: 0}), [0.0, 0.75])
    told(two, claims(0, [0], {1: 1}), [0.25, 0.0])
    assert two.confidence(0)() == pytest.approx(1 - crossing((1.0, 2.0), (0.75, 0.75)))
    assert two.confidence(1)() == pytest.approx(1 - crossing((1.0, 2.0), (1.25, 1.25)))


def test_who_is_near_enough_is_sure_to_be_so() -> None:
    """With a tolerance of 2, a lead of 1 shows that arm 1 is no better than arm 0 beyond it."""
    one = told(looking(tolerance=2.0, offsets=np.arange(3)), claims(0, [0], {1: 1}), [1.0, 0.0])
    assert one.survivors.all()
    assert (one.answer(), one.rivals(0).any(), one.rivals(1).any()) == (0, False, True)
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(3.0))


def test_a_leader_that_is_out_is_not_trusted() -> None:
    one = told(looking(offsets=np.arange(3)), claims(0, [0], {1: 1}), [3.0, 0.0])
    assert one.survivors.tolist() == [True, False]
    assert one.confidence(1)() == 0
    assert one.confidence(0)() == pytest.approx(stats.norm.cdf(3.0))


@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_arms_that_fell_by_settling_count_as_delta(tolerance: float) -> None:
    """Point 0 crosses at the first look and falls back, point 1 at the second.

    No single look shows both above the level, so the p-value of the sums alone is larger than δ.
    """
    two = looking(2, a=4.0, tolerance=tolerance, offsets=np.array([0, 2, 3]))
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
