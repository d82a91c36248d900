"""Which contrast says most: held against every mixture of an arm's pairs on a fine grid."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms.prime.misfit.clearest import (
    Best,
    Offer,
    Pulled,
    View,
    clearest,
    size_of_bias,
)
from surefoot.algorithms.prime.misfit.predictors import predictor

OFFSETS = np.array([0, 1, 3])  # one pair against an arm of two


def world(seed: int, misfit: float, own: float) -> tuple[View, Pulled, Offer]:
    """Three pulled pairs whose means are as good as known, so that hopes are gaps."""
    generator = np.random.default_rng(seed)
    pairs = generator.normal(size=(3, 2))
    pairs /= np.linalg.norm(pairs, axis=1).max()
    means, variances = np.array([1.0, 0.0, 0.1]), generator.uniform(0.5, 2.0, 3)
    sure = np.zeros((3, 2)), np.zeros(3)
    view = View(pairs, OFFSETS, means, *sure, variances, misfit, np.array([own]), 0.5)
    pulled = Pulled(np.arange(3), variances, np.arange(3))
    weights, hidden = predictor(pairs, pulled.pairs, variances, own)
    return view, pulled, Offer(weights, hidden, weights @ means, weights @ sure[0])


def found(view: View, pulled: Pulled, offer: Offer) -> Best:
    best = Best(np.zeros((1, 1)), np.zeros((1, 3)), np.full((1, 1), -1))
    clearest(view, pulled, offer, (np.array([0]), np.array([1]), 7), best)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_without_a_misfit_no_mixture_is_clearer(seed: int) -> None:
    view, pulled, offer = world(seed, 0.0, 1.0)
    best = found(view, pulled, offer)
    scores = []
    for share in np.linspace(0, 1, 201):
        contrast = offer.weights[0] - share * offer.weights[1] - (1 - share) * offer.weights[2]
        scores.append(contrast @ view.means / np.sqrt(contrast**2 @ pulled.variances))
    assert best.scores[0, 0] == pytest.approx(max(scores), rel=1e-3)
    assert best.scores[0, 0] >= max(scores) - 1e-9
    assert best.offer[0, 0] == 7
    assert best.shares[0, 1:].sum() == pytest.approx(1.0)
    assert (best.shares >= 0).all()
    assert best.shares[0, 0] == 0


def test_an_offer_is_taken_only_where_it_is_clearer() -> None:
    view, pulled, offer = world(1, 0.0, 1.0)
    before = Best(np.full((1, 1), 1e6), np.zeros((1, 3)), np.full((1, 1), 3))
    clearest(view, pulled, offer, (np.array([0]), np.array([1]), 7), before)
    assert before.offer[0, 0] == 3
    assert not before.shares.any()


def test_a_gap_that_the_bias_may_explain_is_not_worth_a_try() -> None:
    view, pulled, offer = world(2, 1e3, 0.0)
    assert size_of_bias(pulled, offer, 0, 1, np.array([1.0, 0.0])) > 0
    assert found(view, pulled, offer).offer[0, 0] == -1
    direct = world(2, 1e3, 1.0)  # differences of the pairs' own means have no bias
    assert found(*direct).offer[0, 0] == 7


def test_a_pair_that_is_not_measured_is_not_compared() -> None:
    view, pulled, offer = world(3, 0.0, 1.0)
    hidden = np.zeros((3, 1))
    hidden[1] = 1.0
    best = found(view, pulled, offer._replace(hidden=hidden))
    assert best.shares[0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
def test_the_bias_is_the_sum_of_what_deviations_may_do(own: float) -> None:
    _, pulled, offer = world(4, 0.1, own)
    shares = np.array([0.25, 0.75])
    left = offer.weights[0] - shares @ offer.weights[1:] - np.array([1.0, *-shares])
    bias = size_of_bias(pulled, offer, 0, 1, shares)
    assert bias == pytest.approx(np.abs(left).sum(), abs=1e-12)
    unpulled = pulled._replace(place=np.array([0, 1, -1]))
    assert size_of_bias(unpulled, offer, 0, 1, shares) > bias
