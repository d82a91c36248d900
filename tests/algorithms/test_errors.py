"""Every algorithm that certifies without an indifference zone errs no more often than stated."""

from __future__ import annotations

import math

import pytest

from surefoot.algorithms import PEERS, Algorithm
from surefoot.algorithms.peers import MKlLucb, MLucb, MRacing
from surefoot.noise import Bounded, Gaussian, SubGaussian
from surefoot.testing import error_test
from tests.algorithms.families import CERTIFYING, FAMILIES, NAMES, made_for, settings_for
from tests.algorithms.games import table

NOISES = {
    "unknown": (Gaussian(equal=True), "gaussian"),
    "uniform": (SubGaussian(1.0), "uniform"),
    "rademacher": (SubGaussian(1.0), "rademacher"),
}


@pytest.mark.statistical
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in PEERS])
def test_errors_stay_within_delta(name: str, family: str) -> None:
    """Where there is a certificate, and one is always given by an algorithm that gives any.

    100 runs at this δ show an excess that 400 would show at 0.05: errors are counted, not runs.
    """
    certifies = name in CERTIFYING
    test = error_test(
        lambda instance: made_for(name, instance),
        FAMILIES[family](),
        delta=0.2,
        runs=100 if certifies else 5,
        budget=settings_for(name).budget,
    )
    assert test.certified == (test.runs if certifies else 0)
    assert not test.rejected


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "family", "noise", "delta", "runs"),
    [
        *(
            ("prime", family, noise, 0.2, 30)
            for family in FAMILIES
            for noise in ("unknown", "rademacher")
        ),
        ("robust-rage", "several bind", "uniform", 0.05, 400),
        ("robust-lingape", "unit sphere", "rademacher", 0.05, 400),
    ],
)
def test_errors_stay_within_delta_with_noise_that_is_not_known_to_be_normal(
    name: str, family: str, noise: str, delta: float, runs: int
) -> None:
    assumed, drawn = NOISES[noise]
    test = error_test(
        lambda _: name,
        FAMILIES[family](),
        delta=delta,
        runs=runs,
        noise=assumed,
        family=drawn,  # type: ignore[arg-type]
    )
    assert test.certified == test.runs
    assert not test.rejected


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("algorithm", "runs"),
    [(MLucb(growth=1.0), 200), (MKlLucb(growth=1.0), 200), (MRacing(growth=0.5), 300)],
    ids=["m-lucb", "m-kl-lucb", "m-racing"],
)
def test_errors_stay_within_delta_with_coins(algorithm: Algorithm, runs: int) -> None:
    test = error_test(
        lambda _: algorithm,
        table([[0.5, 0.7], [0.35, 0.45]]),
        delta=0.2,
        runs=runs,
        noise=Bounded(0, 1),
        family="bernoulli",
        misfit=math.inf,
    )
    assert test.certified == test.runs
    assert not test.rejected
