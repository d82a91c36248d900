"""Boundaries: walks read on the grid reach them as often as stated, and p-values are none lower."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from surefoot.boundaries import gaussian_boundary, mixture_boundary
from surefoot.certify import Boundary

TIMES = tuple((1.2 ** np.arange(24)).tolist())
SHAPE = tuple((0.1 * np.abs(np.arange(24) - 12.0)).tolist())
RUNS, LEVEL = 40_000, 1e-4
BOUNDARIES = [gaussian_boundary(TIMES, 0.05, SHAPE), mixture_boundary(TIMES, 0.05, SHAPE)]


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
