"""Shares of pulls: the search climbs, and what it finds is nearly best, for every contrast."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from surefoot.arrays import Array
from surefoot.plan.shares import _Aims, _climb, _Needs

N, K, DIMENSION = 9, 4, 3


def aims(deviation: float, seed: int = 0) -> _Aims:
    """Some pairs against others, by the fit (0), own means (∞) or what lies between."""
    rng = np.random.default_rng(seed)
    rows, inside = rng.normal(size=(N, DIMENSION)), np.zeros((K, N))
    for k in range(K):
        first, second = rng.choice(N, 2, replace=False)
        inside[k, [first, second]] = 1.0, -1.0
    noise = rng.uniform(0.5, 2.0, N)
    return _Aims(rows, noise, inside @ rows, inside, np.array([0, K]), np.array([deviation]))


def needs(wealth: float = 0.0) -> _Needs:
    gaps = np.array([1.0, 0.6, 1.5, 0.8])
    slope, evidence = (0.5, 0.0) if wealth else (1.0, 2.5)
    return _Needs(gaps, np.full(K, evidence), np.full(K, wealth), np.full(K, 1.2), slope, 40.0)


def lengths(what: _Aims, shares: Array) -> Array:
    """Deviations of the contrasts, by the formula of least squares with variances s + τ²."""
    variances, (tau,) = what.noise / shares, what.deviations
    if np.isinf(tau):
        weights = what.inside
    else:
        total = variances + tau
        kept = what.inside * (tau / total)
        projection = np.linalg.pinv(what.rows / np.sqrt(total)[:, None]) / np.sqrt(total)
        weights = (what.features - kept @ what.rows) @ projection + kept
    return np.asarray(np.sqrt(weights**2 @ variances))


def chance(what: _Aims, need: _Needs, shares: Array) -> float:
    signal = np.sqrt(need.phases) * need.gaps / lengths(what, shares)
    score = (need.slope * signal - need.evidence - need.wealth / signal) / need.spreads
    return float(special.log_ndtr(score).sum())


def climbed(what: _Aims, need: _Needs, start: Array, steps: int) -> tuple[Array, Array]:
    shares, found = start.copy(), np.empty(K)
    _climb(what, need, shares, found, steps)
    return shares, found


EVEN = np.full(N, 1 / N)


@pytest.mark.parametrize("deviation", [0.0, 0.5, np.inf])
def test_lengths_are_those_of_the_contrast_formula(deviation: float) -> None:
    what = aims(deviation)
    shares, found = climbed(what, needs(), EVEN, 3)
    assert found == pytest.approx(lengths(what, shares), rel=1e-6)


@pytest.mark.parametrize("wealth", [0.0, 3.0])
@pytest.mark.parametrize("deviation", [0.0, np.inf])
def test_what_is_found_is_nearly_best(deviation: float, wealth: float) -> None:
    what, need = aims(deviation, 1), needs(wealth)
    shares, _ = climbed(what, need, EVEN, 60)
    assert shares.sum() == pytest.approx(1.0)
    found = chance(what, need, shares)
    assert found > chance(what, need, EVEN) + 0.02

    def short(logits: Array) -> float:
        return -chance(what, need, np.asarray(special.softmax(logits)) + 1e-12)

    best = -optimize.minimize(short, np.log(shares + 1e-6), method="BFGS").fun
    assert found >= best - 0.02


@pytest.mark.parametrize("deviation", [0.0, np.inf])
def test_every_step_climbs(deviation: float) -> None:
    what, need, shares = aims(deviation, 2), needs(), np.random.default_rng(3).dirichlet(np.ones(N))
    before = chance(what, need, shares)
    for _ in range(6):
        shares, _ = climbed(what, need, shares, 1)
        now = chance(what, need, shares)
        assert now >= before - 1e-9
        before = now


def test_a_pair_that_no_comparison_needs_gets_next_to_nothing() -> None:
    what = aims(np.inf, 4)
    shares, _ = climbed(what, needs(), EVEN, 60)
    assert (shares[~what.inside.any(axis=0)] < 1e-6).all()


def test_where_all_is_settled_or_hopeless_shares_stay_shares() -> None:
    for gap in (1e9, 1e-9):
        shares, _ = climbed(aims(0.0), needs()._replace(gaps=np.full(K, gap)), EVEN, 20)
        assert np.isfinite(shares).all()
        assert shares.sum() == pytest.approx(1.0)
