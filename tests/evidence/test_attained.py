"""How sure one is so far is a p-value at all looks at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.arrays import Array
from surefoot.boundaries import gaussian_boundary, mixture
from surefoot.evidence.attained import (
    Attained,
    GaussianAttained,
    MixtureAttained,
    WealthAttained,
)
from tests.evidence.phases import LEVEL

WEIGHTS = tuple(1.12 ** np.arange(16))
STRICTNESS = tuple(np.linspace(2.0, 0.0, 16))
ROOTS = np.sqrt(np.cumsum(WEIGHTS))
WALKS = 500


def _walks(seed: int) -> Array:
    """(n_looks, n_walks) W / √V of walks without drift: the best arm's, at its worst."""
    steps = np.random.default_rng(seed).standard_normal((len(WEIGHTS), WALKS))
    return np.cumsum(np.sqrt(WEIGHTS)[:, None] * steps, axis=0) / ROOTS[:, None]


def _p_values(attained: Attained) -> Array:
    """(n_walks,) each walk's own."""
    return np.array([attained.largest_p(0, np.array([i]))() for i in range(WALKS)])


def _gaussian() -> GaussianAttained:
    return GaussianAttained(WALKS, 1.0, WEIGHTS, STRICTNESS)


def _mixture() -> MixtureAttained:
    return MixtureAttained(WALKS, 1.0, WEIGHTS, mixture(WEIGHTS, 0.05, STRICTNESS))


@pytest.mark.parametrize("make", [_gaussian, _mixture])
def test_p_values_at_ties_are_uniform_or_larger_over_all_looks(make: type[Attained]) -> None:
    attained = make()
    for look, evidence in enumerate(_walks(seed=1)):
        attained.look(look, evidence, None)
    p_values = _p_values(attained)
    for alpha in (0.01, 0.05, 0.1, 0.3, 0.5):
        small = int((p_values <= alpha).sum())
        assert stats.binom.sf(small - 1, WALKS, alpha) > LEVEL


@pytest.mark.parametrize("make", [_gaussian, _mixture])
def test_p_values_at_a_look_chosen_at_random_are_no_smaller(make: type[Attained]) -> None:
    """One stops where one likes, here at random or where the evidence was largest so far."""
    attained, evidence = make(), _walks(seed=2)
    stops = np.random.default_rng(3).integers(1, len(WEIGHTS) + 1, WALKS)
    for look, row in enumerate(evidence):
        attained.look(look, np.where(look < stops, row, -np.inf), None)
    small = int((_p_values(attained) <= 0.1).sum())
    assert stats.binom.sf(small - 1, WALKS, 0.1) > LEVEL


def test_gaussian_p_values_are_sharp() -> None:
    """At α = 0.1 nearly a tenth of the walks get there: the bound is no larger than it need be."""
    attained = _gaussian()
    for look, evidence in enumerate(_walks(seed=4)):
        attained.look(look, evidence, None)
    small = int((_p_values(attained) <= 0.1).sum())
    assert stats.binom.cdf(small, WALKS, 0.1) > LEVEL


def test_the_p_value_is_the_delta_whose_boundary_was_just_reached() -> None:
    for delta in (0.001, 0.05, 0.15):
        boundary = gaussian_boundary(WEIGHTS, delta, STRICTNESS)
        for look in (0, 7, 15):
            attained = GaussianAttained(1, 1.0, WEIGHTS, STRICTNESS)
            attained.look(look, boundary[look : look + 1], None)
            assert np.isclose(attained.largest_p(0, np.array([0]))(), delta, rtol=1e-3)


def test_a_p_value_beyond_what_was_checked_says_nothing() -> None:
    boundary = gaussian_boundary(WEIGHTS, 0.15, STRICTNESS)
    for most, p in ((1.0, 0.15), (0.2, 0.15), (0.1, 1.0)):
        attained = GaussianAttained(1, 1.0, WEIGHTS, STRICTNESS, most)
        attained.look(7, boundary[7:8], None)
        assert attained.largest_p(0, np.array([0]))() == pytest.approx(p, rel=1e-3)


def test_an_epoch_that_may_spend_half_counts_twice() -> None:
    whole, half = (GaussianAttained(1, share, WEIGHTS, ()) for share in (1.0, 0.5))
    for attained in (whole, half):
        attained.look(3, np.array([3.5]), None)
    arm = np.array([0])
    assert np.isclose(half.largest_p(0, arm)(), 2 * whole.largest_p(0, arm)())


def test_evidence_once_had_is_kept() -> None:
    attained = WealthAttained(2, 1.0)
    for evidence in ([0.0, 0.0], [2.0, 1.0], [-3.0, -3.0]):
        attained.look(0, np.array(evidence), None)
    assert np.allclose(attained.largest_p(0, np.array([0]))(), math.exp(-2))
    assert np.allclose(attained.largest_p(0, np.array([0, 1]))(), math.exp(-1))


def test_negative_evidence_is_no_confidence() -> None:
    for attained in (_gaussian(), _mixture(), WealthAttained(WALKS, 1.0)):
        attained.look(5, np.full(WALKS, -1.0), None)
        assert attained.largest_p(0, np.array([3]))() == 1.0


def test_a_tolerance_counts_for_its_leader_only() -> None:
    attained = WealthAttained(3, 1.0)
    attained.look(0, np.array([0.0, 1.0, 1.0]), None)
    attained.look(0, np.array([0.0, 4.0, 1.0]), 0)
    one = np.array([1])
    assert np.allclose(attained.largest_p(0, one)(), math.exp(-4))
    assert np.allclose(attained.largest_p(2, one)(), math.exp(-1))


def test_arms_on_their_own_clocks_are_read_at_their_own_looks() -> None:
    """Evidence 3 after the first look says more or less than after the last one: a mixture knows
    the variance.
    """
    looks = np.array([0, 7, 15])
    together = MixtureAttained(3, 1.0, WEIGHTS, mixture(WEIGHTS, 0.05))
    together.look(looks, np.full(3, 3.0), None)
    for arm, look in enumerate(looks.tolist()):
        alone = MixtureAttained(3, 1.0, WEIGHTS, mixture(WEIGHTS, 0.05))
        alone.look(look, np.full(3, 3.0), None)
        places = np.array([arm])
        assert np.isclose(together.largest_p(0, places)(), alone.largest_p(0, places)())
