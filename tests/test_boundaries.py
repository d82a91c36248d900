"""Boundaries against published constants, simulation and the worst an adversary can do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from surefoot import boundaries
from surefoot.algorithms import prime_plan
from surefoot.algorithms.prime_plan import continuation, first_plan
from surefoot.noise import Gaussian, SubGaussian

# Pocock (1977); Jennison and Turnbull (2000), table 2.1: two-sided α = 0.05, equally spaced looks.
POCOCK = {1: 1.960, 2: 2.178, 3: 2.289, 4: 2.361, 5: 2.413, 10: 2.555}


@pytest.mark.parametrize(("looks", "constant"), POCOCK.items())
def test_pocock_constants(looks: int, constant: float) -> None:
    # one side at 0.025: the two sides of a two-sided test overlap with probability below 1e-4
    boundary = boundaries.gaussian_boundary((1.0,) * looks, 0.025)
    assert boundary == pytest.approx(np.full(looks, constant), abs=2e-3)


def walks(weights: np.ndarray, runs: int, seed: int, draw: str = "normal") -> np.ndarray:
    generator = np.random.default_rng(seed)
    steps = (
        generator.standard_normal((runs, len(weights)))
        if draw == "normal"
        else generator.choice([-1.0, 1.0], (runs, len(weights)))
    )
    return np.cumsum(np.sqrt(weights) * steps, axis=1) / np.sqrt(np.cumsum(weights))


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_shipped_gaussian_boundary_spends_exactly_its_level(delta: float) -> None:
    plan = first_plan(delta, Gaussian(1.0))
    runs = 200_000
    crossed = int((walks(plan.weights, runs, 7) >= plan.boundary).any(axis=1).sum())
    low, high = stats.binom.interval(1 - 1e-4, runs, 0.98 * delta)
    assert low <= crossed <= high


@pytest.mark.parametrize("draw", ["normal", "rademacher"])
def test_the_mixture_boundary_holds_for_sub_gaussian_walks(draw: str) -> None:
    plan = first_plan(0.05, SubGaussian(1.0))
    runs = 100_000
    crossed = int((walks(plan.weights, runs, 8, draw) >= plan.boundary).any(axis=1).sum())
    assert stats.binom.sf(crossed - 1, runs, 0.049) > 1e-4


def test_the_mixture_is_better_than_a_union_over_the_looks() -> None:
    plan = first_plan(0.05, SubGaussian(1.0))
    assert (plan.boundary**2 < 2 * np.log(len(plan.weights) / 0.049)).all()


@pytest.mark.parametrize("delta", [0.001, 0.05, 0.15, 0.2, 0.3, 0.6, 0.95])
def test_phases_that_measure_nothing_cannot_raise_the_crossing_probability(delta: float) -> None:
    first = first_plan(delta, Gaussian(1.0))
    later = continuation(1, float(first.sizes.sum()), delta, Gaussian(1.0))
    for plan, level in ((first, 0.98 * delta), (later, 0.01 * delta)):
        worst = boundaries.worst_crossing_probability(tuple(plan.weights.tolist()), plan.boundary)
        assert worst <= level * (1 + 1e-6)


def test_the_adversary_of_that_check_is_real() -> None:
    # a boundary that falls rewards waiting: the idle policy crosses for certain, the planned one
    # does not
    weights, falling = (1.0, 1.0), np.array([0.5, -1.0])
    assert boundaries.crossing_probability(weights, falling) < 0.95
    assert boundaries.worst_crossing_probability(weights, falling) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("noise", [Gaussian(1.0), SubGaussian(1.0)])
def test_levels_of_all_epochs_sum_to_delta(
    noise: Gaussian | SubGaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = []

    def recorded(
        weights: tuple[float, ...], delta: float, strictness: tuple[float, ...]
    ) -> np.ndarray:
        spent.append(delta)
        return np.ones(len(weights))

    monkeypatch.setattr(prime_plan, "gaussian_boundary", recorded)
    monkeypatch.setattr(prime_plan, "mixture_boundary", recorded)
    first_plan(0.05, noise)
    for epoch in range(1, 40):
        continuation(epoch, 100.0, 0.05, noise)
    assert sum(spent) == pytest.approx(0.05)


@pytest.mark.parametrize("noise", [Gaussian(1.0), SubGaussian(1.0)])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 0.5, 0.97])
def test_any_delta_has_a_plan(noise: Gaussian | SubGaussian, delta: float) -> None:
    for plan in (first_plan(delta, noise), continuation(8, 1e4, delta, noise)):
        assert np.isfinite(plan.boundary).all()
        assert (plan.boundary > 0).all()


def test_one_look_is_the_normal_quantile() -> None:
    assert boundaries.gaussian_boundary((3.0,), 0.05)[0] == pytest.approx(
        -special.ndtri(0.05), abs=1e-6
    )
