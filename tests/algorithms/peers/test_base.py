from __future__ import annotations

import math

import pytest

from surefoot.algorithms import PEERS
from surefoot.algorithms.peers import KnRsb
from surefoot.errors import InputError
from surefoot.noise import Bounded, Gaussian
from surefoot.simulate import LinearSimulator, identify
from tests.algorithms.families import made_for, settings_for
from tests.algorithms.peers.games import slippage, solved


@pytest.mark.parametrize("name", PEERS)
def test_the_model_is_refused(name: str) -> None:
    instance = slippage(3, 2)
    with pytest.raises(InputError, match="knows no model: give misfit=math"):
        made_for(name, instance).start(instance[0], settings_for(name, misfit=0.0))


@pytest.mark.parametrize("name", [name for name in PEERS if name not in ("kn-rsb", "ak-rsb")])
def test_common_random_numbers_are_refused_by_all_but_two(name: str) -> None:
    instance = slippage(3, 2)
    noise = Bounded(0, 1) if name.startswith("m-") else Gaussian()
    settings = settings_for(name, noise=noise, common_random_numbers=True)
    with pytest.raises(InputError, match="needs independent pulls"):
        made_for(name, instance).start(instance[0], settings)


@pytest.mark.parametrize("name", PEERS)
def test_a_guide_is_refused(name: str) -> None:
    instance = slippage(3, 2)
    noise = Bounded(0, 1) if name.startswith("m-") else Gaussian()
    with pytest.raises(InputError, match=r'has no guide.*leave guide out, or use "prime"'):
        made_for(name, instance).start(instance[0], settings_for(name, noise=noise, guide="trend"))


def test_other_noise_is_refused_with_what_to_give() -> None:
    with pytest.raises(InputError, match=r"m-lucb is not made for gaussian noise: .*Bounded\("):
        solved("m-lucb", slippage(3, 2))


@pytest.mark.parametrize("zone", [None, 0, -1.0, "wide", float("nan"), True])
def test_a_zone_has_no_default_and_is_positive(zone: object) -> None:
    with pytest.raises(InputError, match=r"needs zone to be a positive number.*, zone = 1.0 }"):
        solved(KnRsb(zone=zone), slippage(3, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("pulls", [1, 2.5, True])
def test_a_first_stage_has_two_pulls_at_least(pulls: object) -> None:
    with pytest.raises(InputError, match="needs first_pulls to be a whole number from 2 on"):
        solved(KnRsb(zone=1.0, first_pulls=pulls), slippage(3, 2))  # type: ignore[arg-type]


def test_an_indifference_zone_is_no_certificate() -> None:
    problem, means = slippage(3, 2)
    simulator = LinearSimulator(problem, means, seed=0)
    result = identify(
        problem, simulator, KnRsb(zone=1.0), delta=0.05, noise=Gaussian(), misfit=math.inf
    )
    assert result.arm == 0
    assert not result.certified
    assert "not certified" in result.sentence
    assert "only if the best arm is ahead" in repr(result)
