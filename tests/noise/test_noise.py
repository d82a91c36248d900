"""Noise models: what each knows of itself, and its boundaries against published constants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from surefoot.algorithms.certified import clock_boundary
from surefoot.algorithms.settings import Settings
from surefoot.certify.boundary import crossing
from surefoot.errors import InputError
from surefoot.noise import (
    NOISE_MODELS,
    Bounded,
    Gaussian,
    Noise,
    SubGaussian,
    boundaries,
    noise_from_dict,
)
from surefoot.noise.base import OWN, worth_of_pooled
from surefoot.noise.boundaries import _crossing_probability
from surefoot.statistics import Outcome


def test_the_callers_array_is_copied() -> None:
    scale = np.ones(2)
    noise = Gaussian(scale)
    scale[:] = -1.0
    assert noise.scales(2).tolist() == [1.0, 1.0]


def test_an_unknown_scale_counts_as_one() -> None:
    assert not Gaussian().known
    assert Gaussian(1.0).known
    assert Gaussian().scales(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "scale",
    [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [], [[1.0]], "1", True, ["1"], [[1.0], [1.0, 2.0]]],
)
def test_a_scale_must_be_positive(scale: object) -> None:
    with pytest.raises(InputError, match="must be one positive number, or one for each pair"):
        Gaussian(scale)  # type: ignore[arg-type]


EVERY = [  # each model, each way of use
    Gaussian(),
    Gaussian(equal=True),
    Gaussian(0.1),
    SubGaussian([1.0, 2.5]),
    Bounded(0.0, 1.0),
]


def test_every_model_is_tried_here() -> None:
    assert {type(noise) for noise in EVERY} == set(NOISE_MODELS.values())


@pytest.mark.parametrize("noise", EVERY, ids=repr)
def test_each_model_knows_itself(noise: Noise) -> None:
    assert NOISE_MODELS[noise.kind] is type(noise)
    assert type(noise).__name__ in noise.usage
    assert noise.scales_are_deviations == (noise.kind == "gaussian" and noise.known)
    with pytest.raises(InputError, match=f"{noise.kind} noise has no colour: it takes (scale|low)"):
        noise.from_options({"colour": 1})


@pytest.mark.parametrize("noise", EVERY, ids=repr)
def test_thresholds_and_boundaries_hold_at_their_level(noise: Noise) -> None:
    # each is checked against normal noise, which all models contain
    assert 20 * stats.norm.sf(noise.union_threshold(20, 0.05)) <= 0.05 * (1 + 1e-9)
    times = (1.0, 1.5, 2.5)
    boundary = noise.boundary(times, 0.05, (0.0,) * 3)
    boundary.check(0.05)
    heights = boundary.level / np.sqrt(times)
    assert _crossing_probability((1.0, 0.5, 1.0), heights) <= 0.05 * (1 + 1e-6)


@pytest.mark.parametrize("noise", EVERY, ids=repr)
def test_it_survives_json(noise: Noise) -> None:
    again = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
    assert type(again) is type(noise)
    assert again.scales(2).tolist() == noise.scales(2).tolist()
    for name in ("known", "evidence", "mixes", "assumption"):
        assert getattr(again, name) == getattr(noise, name)


def test_a_union_of_gaussian_events_is_exact() -> None:
    c = Gaussian(3.0).union_threshold(20, 0.05)
    assert 20 * stats.norm.sf(c) == pytest.approx(0.05)


def test_sub_gaussian_events_have_the_chernoff_bound() -> None:
    assert SubGaussian(3.0).union_threshold(20, 0.05) == pytest.approx(math.sqrt(2 * math.log(400)))
    assert SubGaussian(3.0).union_threshold(20, 0.05) > Gaussian(3.0).union_threshold(20, 0.05)


def test_a_large_delta_never_makes_a_negative_threshold() -> None:
    assert Gaussian(1.0).union_threshold(1, 0.9) == 0.0


def test_unknown_noise_is_unequal_unless_one_says_otherwise() -> None:
    assert Gaussian().evidence == "batches"
    assert Gaussian(equal=True).evidence == "residual"
    assert repr(Gaussian()) == "Gaussian()"
    assert repr(Gaussian(equal=True)) == "Gaussian(equal=True)"
    assert "nothing about noise levels" in Gaussian().assumption


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian([1.0, 2.0]).scales(3), "noise has 2 scales, but the problem has 3 pairs"),
        (lambda: SubGaussian(None), "SubGaussian needs a scale"),
        (lambda: Gaussian(1.0, equal=True), "give the scale if it is known, or equal=True"),
        (lambda: Gaussian(equal="yes"), "equal='yes' must be true or false"),
        (lambda: Bounded(1, 0), "low=1 must be below high=0"),
        (lambda: Bounded(0, 0), "must be below"),
        (lambda: Bounded(0, np.inf), "high=inf must be a finite number"),
        (lambda: Bounded("0", 1), "low='0' must be a finite number"),
        (lambda: Bounded(None, 1), "low=None must be a finite number"),
        (lambda: noise_from_dict({}), "its kind is Gaussian or SubGaussian"),
        (lambda: noise_from_dict({"kind": "Cauchy", "scale": 1.0}), "its kind is Gaussian or Sub"),
        (lambda: noise_from_dict({"kind": ["Gaussian"]}), "its kind is Gaussian or SubGaussian"),
    ],
)
def test_what_is_no_noise_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


RANGES: list[tuple[list[float], bool]] = [
    ([0.0, 1.0, 1.0], True),
    ([0.3, 0.3, 0.3], True),
    ([1.0, 1.0, 1.0], True),
    ([1.0, 1.0, 1.01], False),
    ([-0.1, 0.0, 0.0], False),
    ([2.0, 0.0, 0.0], False),
    ([-0.5, 1.5, 0.5], False),
]


@pytest.mark.parametrize(("rewards", "possible"), RANGES)
def test_rewards_outside_of_the_range_are_refused(rewards: list[float], possible: bool) -> None:
    outcome = Outcome.from_rewards(0, 2, [1, 1, 1], rewards)
    if possible:
        Bounded(0, 1).refuse_impossible(outcome)
    else:
        with pytest.raises(InputError, match="pair 1 has a reward outside of 0 to 1"):
            Bounded(0, 1).refuse_impossible(outcome)


@pytest.mark.parametrize(("levels", "least", "most"), [(1.0, 100.0, 1e6), (10.0, 2.0, 8.0)])
def test_pooled_levels_are_worth_more_the_more_alike_they_seem(
    levels: float, least: float, most: float
) -> None:
    freedom = np.full(40, 30.0)
    variances = np.where(np.arange(40) % 2, levels**2, 1.0)
    scatter = variances * np.random.default_rng(1).chisquare(freedom)
    assert least <= worth_of_pooled(scatter, freedom, 1e6) <= most


def test_rewards_without_noise_say_nothing_about_what_is_alike() -> None:
    assert worth_of_pooled(np.zeros(3), np.ones(3), 1e6) == OWN


# Boundaries against published constants, simulation and the worst an adversary can do.

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
