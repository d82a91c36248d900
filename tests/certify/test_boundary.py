"""Boundaries: walks read on the grid reach them as often as stated, and p-values are none lower."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from surefoot.certify import Boundary, GaussianBoundary, MixtureBoundary, WealthBoundary
from surefoot.certify.boundary import crossing
from surefoot.errors import InputError
from surefoot.noise.boundaries import boundary_by_starts, gaussian_boundary, mixture_boundary

TIMES = tuple((1.2 ** np.arange(24)).tolist())
SHAPE = tuple((0.1 * np.abs(np.arange(24) - 12.0)).tolist())
RUNS, LEVEL = 40_000, 1e-4
BOUNDARIES = [gaussian_boundary(TIMES, 0.05, SHAPE), mixture_boundary(TIMES, 0.05, SHAPE)]
GROUPS = (0, 8, 14, 19)
BY_STARTS = boundary_by_starts(TIMES, 0.05, SHAPE, GROUPS)


def _walks(seed: int) -> np.ndarray:
    steps = np.sqrt(np.diff(TIMES, prepend=0.0))
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    return np.cumsum(steps * generator.standard_normal((RUNS, len(TIMES))), axis=1)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=["Gaussian", "mixture"])
def test_a_walk_read_on_the_grid_crosses_as_often_as_planned_however_clocks_jump(
    boundary: Boundary,
) -> None:
    walks, generator = _walks(1), np.random.default_rng(np.random.SeedSequence(2))
    reached = walks >= boundary.level
    everywhere = int(reached.any(axis=1).sum())
    jumping = int((reached & (generator.random(reached.shape) < 0.5)).any(axis=1).sum())
    assert stats.binom.sf(everywhere - 1, RUNS, 0.05) > LEVEL
    assert jumping < everywhere


def test_the_gaussian_boundary_spends_all_of_its_level() -> None:
    crossed = int((_walks(3) >= BOUNDARIES[0].level).any(axis=1).sum())
    assert stats.binomtest(crossed, RUNS, 0.05).pvalue > LEVEL


@pytest.mark.parametrize("start", range(len(TIMES)))
def test_clocks_that_begin_late_spend_their_level_and_no_more(start: int) -> None:
    """Those that begin where a group does spend all of it."""
    places = np.arange(start, len(TIMES))
    levels = BY_STARTS.levels(np.full_like(places, start), places)
    crossed = int((_walks(5)[:, start:] >= levels).any(axis=1).sum())
    assert stats.binom.sf(crossed - 1, RUNS, 0.05) > LEVEL
    if start in GROUPS:
        assert stats.binom.cdf(crossed, RUNS, 0.05) > LEVEL


def test_a_boundary_by_starts_is_that_of_all_looks_where_clocks_begin_at_the_first() -> None:
    assert BY_STARTS.level == pytest.approx(BOUNDARIES[0].level, rel=1e-6)
    heights = BY_STARTS.levels(np.arange(len(TIMES)), np.full(len(TIMES), len(TIMES) - 1))
    assert (np.diff(heights) <= 0).all()
    assert (np.flatnonzero(np.diff(heights)) + 1).tolist() == list(GROUPS[1:])


@pytest.mark.parametrize("delta", [0.01, 0.2, 0.5])
def test_a_boundary_by_starts_is_valid_for_its_level_and_for_none_below(delta: float) -> None:
    made = boundary_by_starts(TIMES, delta, SHAPE, GROUPS)
    made.check(delta)
    with pytest.raises(InputError, match="cross this boundary"):
        made.check(0.94 * delta)


@pytest.mark.parametrize("strength", [-0.5, 1.0, 4.0, 12.0])
def test_a_strength_says_more_where_clocks_begin_later(strength: float) -> None:
    starts = BY_STARTS.groups(np.arange(len(TIMES)))
    assert np.unique(starts).tolist() == list(GROUPS)
    assert (starts <= np.arange(len(TIMES))).all()
    p_values = [BY_STARTS.p_value(strength, group) for group in GROUPS]
    assert p_values == sorted(p_values, reverse=True)


@pytest.mark.parametrize("group", GROUPS)
def test_what_reaches_the_boundary_of_its_start_has_a_p_value_of_delta(group: int) -> None:
    places = np.arange(group, len(TIMES))
    levels = BY_STARTS.levels(np.full_like(places, group), places)
    strength = BY_STARTS.strength(places, levels)
    assert BY_STARTS.p_value(float(strength.max()), group) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=["Gaussian", "mixture"])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2, 0.5])
def test_p_values_at_ties_are_uniform_or_larger_over_all_looks(
    boundary: Boundary, alpha: float
) -> None:
    """A walk has p ≤ α at some look if its strength is ever that at which p = α."""
    enough = optimize.brentq(lambda s: boundary.p_value(s) - alpha, -10.0, 60.0, xtol=1e-6)
    places = np.arange(len(TIMES))
    strongest = np.max([boundary.strength(places, walk) for walk in _walks(4)[:5000]], axis=1)
    reached = int((strongest >= enough).sum())
    assert stats.binom.sf(reached - 1, 5000, alpha) > LEVEL


def test_what_reaches_the_boundary_has_a_p_value_of_delta() -> None:
    for boundary in BOUNDARIES:
        strength = boundary.strength(np.arange(len(TIMES)), boundary.level)
        assert boundary.p_value(float(strength.max())) == pytest.approx(0.05, rel=1e-4)


def test_one_look_is_crossed_as_a_normal_variable_is() -> None:
    """At time 1/4 a level of √(a / 4) is √a deviations away, also where a is below 1."""
    for a in (0.04, 0.36, 4.0):
        boundary = GaussianBoundary(np.array([0.25]), np.zeros(1), a)
        assert boundary.level == pytest.approx([math.sqrt(a) / 2])
        assert boundary.p_value(a) == pytest.approx(stats.norm.sf(math.sqrt(a)))


@pytest.mark.parametrize("strength", [-np.inf, -3.5, -2.5, -2.0])
def test_a_strength_of_no_height_at_some_look_proves_nothing(strength: float) -> None:
    boundary = GaussianBoundary(np.array([1.0, 2.0]), np.array([2.0, 5.0]), 6.0)
    assert boundary.p_value(strength) == 1


def test_levels_that_fall_pay_a_margin() -> None:
    """Nodes resolve them less well: p-values are higher by 3 in a hundred, and δ must allow it."""
    times, squares = np.array([1.0, 2.0]), np.array([9.0, 4.0])
    spent = crossing((1.0, 2.0), (3.0, 2.0))
    falling = GaussianBoundary(times, squares - 4.0, 4.0)
    assert falling.p_value(4.0) == pytest.approx(1.03 * spent)
    with pytest.raises(InputError):
        falling.check(1.02 * spent)
    falling.check(1.04 * spent)
    rising = GaussianBoundary(times, np.zeros(2), 4.0)
    assert rising.p_value(4.0) == pytest.approx(crossing((1.0, 2.0), (2.0, 2.0)))
    flat = GaussianBoundary(times, np.array([4.0, 0.0]), 4.0)
    assert flat.p_value(4.0) == pytest.approx(crossing((1.0, 2.0), (math.sqrt(8), 2.0)))


@pytest.mark.parametrize("heights", [(0.0, 4.0), (4.0, 0.0), (-1.0, 4.0)])
def test_no_level_lies_at_zero(heights: tuple[float, float]) -> None:
    """A walk that never began would have reached it, whatever δ is."""
    boundary = GaussianBoundary(np.array([1.0, 2.0]), np.array(heights) - 4.0, 4.0)
    with pytest.raises(InputError):
        boundary.check(0.99)


@pytest.mark.parametrize("time", [1e-8, 1.0, 1e8])
def test_a_mixture_reaches_one_over_delta_on_its_level(time: float) -> None:
    """Rates η = 1/√t and 3/√t; the level is the least walk at which they do."""
    times, delta = time * np.array([1.0, 2.0]), 0.05
    rates, shares = np.array([1.0, 3.0]) / math.sqrt(time), np.array([0.3, 0.6])
    boundary = MixtureBoundary(times, rates, shares, delta)
    exponents = np.outer(boundary.level, rates) - np.outer(times, rates**2) / 2
    assert np.exp(exponents) @ shares == pytest.approx(np.full(2, 1 / delta))
    assert boundary.strength(np.arange(2), boundary.level) == pytest.approx(-math.log(delta))
    boundary.check(delta)


def test_boundaries_cannot_be_changed_once_they_were_checked() -> None:
    times, shape = np.array([1.0, 2.0]), np.zeros(2)
    gaussian, rates = GaussianBoundary(times, shape, 6.0), np.ones(1)
    mixed, wealth = MixtureBoundary(times, rates, rates, 0.05), WealthBoundary(0.05)
    times[:], shape[:], rates[:] = 0.0, -6.0, 0.5
    assert gaussian.times.tolist() == mixed.times.tolist() == [1.0, 2.0]
    assert (gaussian.shape.tolist(), mixed.shares.tolist()) == ([0.0, 0.0], [1.0])
    held = gaussian.times, gaussian.shape, mixed.rates, mixed.shares, wealth.times
    for array in (*held, gaussian.level, mixed.level, wealth.level):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0
