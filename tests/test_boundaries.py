"""Boundaries against published constants, simulation and the worst an adversary can do."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import closing
from scipy import special

from surefoot import boundaries

# Pocock (1977); Jennison and Turnbull (2000), table 2.1: two-sided α = 0.05, equally spaced looks.
POCOCK = {1: 1.960, 2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555}


@pytest.mark.parametrize(("looks", "constant"), POCOCK.items())
def test_pocock_constants(looks: int, constant: float) -> None:
    # one side at 0.025: the two sides of a two-sided test overlap with probability below 1e-4
    boundary = boundaries.gaussian_boundary((1.0,) * looks, 0.025)
    assert boundary == pytest.approx(np.full(looks, constant), abs=2e-3)


def test_the_adversary_of_that_check_is_real() -> None:
    # a boundary that falls rewards waiting: the idle policy crosses for certain, the planned one
    # does not
    weights, falling = (1.0, 1.0), np.array([0.5, -1.0])
    assert boundaries.crossing_probability(weights, falling) < 0.95
    assert boundaries.worst_crossing_probability(weights, falling) == pytest.approx(1.0, abs=1e-6)


def test_one_look_is_the_normal_quantile() -> None:
    assert boundaries.gaussian_boundary((3.0,), 0.05)[0] == pytest.approx(
        -special.ndtri(0.05), abs=1e-6
    )


def test_the_constant_of_the_2_sprt_and_the_triangular_test() -> None:
    # Lorden (1976), Whitehead and Stratton (1983): log(1/2δ) spends δ, if one looks all the time
    for delta in (0.01, 0.025, 0.05, 0.1):
        error = closing.triangle(delta, 1.0, 400).up.sum()
        assert error == pytest.approx(delta, rel=0.01)


def test_that_recursion_agrees_with_the_one_of_boundaries() -> None:
    weights, level = np.array([1.0, 0.5, 2.0, 1.0]), np.array([2.5, 2.4, 2.3, 2.2])
    upper = level * np.sqrt(np.cumsum(weights))
    found = closing.passage(weights, upper, np.full(4, -np.inf), 0.0).up.sum()
    planned = boundaries.crossing_probability(tuple(weights.tolist()), level)
    assert found == pytest.approx(planned, abs=1e-9)
