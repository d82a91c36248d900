"""Boundaries against published constants, simulation and the worst an adversary can do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from surefoot.algorithms.planner import clock_boundary
from surefoot.algorithms.settings import Settings
from surefoot.certify.boundary import crossing
from surefoot.noise import SubGaussian, boundaries

# Pocock (1977); Jennison and Turnbull (2000), table 2.1: two-sided α = 0.05, equally spaced looks.
POCOCK = {1: 1.960, 2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555}


@pytest.mark.parametrize(("looks", "constant"), POCOCK.items())
def test_pocock_constants(looks: int, constant: float) -> None:
    # one side at 0.025: the two sides of a two-sided test overlap with probability below 1e-4
    times = tuple(np.arange(1.0, looks + 1).tolist())
    boundary = boundaries.gaussian_boundary(times, 0.025, (0.0,) * looks)
    assert boundary.level / np.sqrt(times) == pytest.approx(np.full(looks, constant), abs=2e-3)


def test_the_adversary_of_that_check_is_real() -> None:
    # a boundary that falls rewards waiting: the idle policy crosses for certain, the planned one
    # does not
    weights, falling = (1.0, 1.0), np.array([0.5, -1.0])
    assert boundaries._crossing_probability(weights, falling) < 0.95
    assert crossing((1.0, 2.0), (0.5, -1.0)) == pytest.approx(1.0, abs=1e-6)


def test_one_look_is_the_normal_quantile() -> None:
    level = boundaries.gaussian_boundary((3.0,), 0.05, (0.0,)).level[0]
    assert level / np.sqrt(3) == pytest.approx(-special.ndtri(0.05), abs=1e-6)


@pytest.mark.parametrize("delta", [0.03, 0.03 / 16])
def test_mixtures_are_found_where_the_simplex_method_finds_none(delta: float) -> None:
    boundary = clock_boundary(Settings(delta=delta, noise=SubGaussian(1.0)))
    boundary.check(delta)
    assert 2 < (boundary.level / np.sqrt(boundary.times)).min() < 4.5
