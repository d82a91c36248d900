"""Simulators that repeat themselves are not certified."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.study import Pull, Study, StudyReader
from surefoot.study.file.replicates import Replicates
from tests.study.toys import THETA, toy_problem


def create(path: Path, **options: object) -> Study:
    settings = {"delta": 0.05, "noise": Gaussian(1.0), "misfit": 0.0, "seed": 3} | options
    return Study.create(path, toy_problem(), **settings)  # type: ignore[arg-type]


def fixed_seed(pull: Pull) -> float:
    return float(pull.features @ THETA + np.random.default_rng(0).normal())


@pytest.mark.parametrize("noise", [Gaussian(1.0), Gaussian(), SubGaussian(1.0)])
def test_a_fixed_seed_is_not_certified(path: Path, noise: Noise) -> None:
    with create(path, noise=noise) as study:
        result = study.run(fixed_seed, "serial")
        assert study.done
        assert study.state == "finished"
    assert not result.certified
    assert result.reason is sf.StopReason.IDENTICAL_REPLICATES
    assert "pull.seed" in result.reason.value
    with Study.open(path) as study, StudyReader(path) as reader:
        assert study.done
        for seen in (study.result, reader.result, reader.recorded):
            assert seen.reason is sf.StopReason.IDENTICAL_REPLICATES
            assert not seen.certified
            assert seen.attained_confidence is None
        assert reader.status().certified is False
        assert "IDENTICAL_REPLICATES: All pulls" in str(reader.status().reason)


def test_a_constant_reward_is_not_certified(path: Path) -> None:
    with create(path, noise=Gaussian()) as study:
        result = study.run(lambda pull: 0.25, "serial")
    assert result.reason is sf.StopReason.IDENTICAL_REPLICATES


def test_a_simulator_without_noise_can_be_declared(path: Path) -> None:
    with create(path, on_identical="accept") as study:
        assert study.run(fixed_seed, "serial").certified
    with StudyReader(path) as reader:
        assert reader.recorded.certified


def test_what_follows_must_be_known(path: Path) -> None:
    with pytest.raises(InputError, match="on_identical='maybe'"):
        create(path, on_identical="maybe")
    assert not path.exists()


def test_a_noisy_simulator_is_certified(path: Path) -> None:
    with create(path) as study:
        noisy = study.run(lambda pull: float(pull.features @ THETA + pull.rng().normal()), "serial")
    assert noisy.certified


def phases(noise: Noise, *rewards: list[float]) -> bool:
    """Whether rewards of pairs 0, 1, 0, 1, … in these phases are refused."""
    replicates = Replicates(2, noise)
    for phase in rewards:
        replicates.add(np.arange(len(phase)) % 2, np.array(phase))
    return replicates.refusal() is not None


BINARY, CONTINUOUS = SubGaussian(0.5), Gaussian(1.0)


@pytest.mark.parametrize(
    ("noise", "rewards", "refused"),
    [
        (CONTINUOUS, [[0.5, 0.7] * 3], False),  # four repetitions
        (CONTINUOUS, [[0.5, 0.7] * 3, [0.5]], True),  # a fifth, in the next phase
        (CONTINUOUS, [[0.5, 0.7] * 3, [0.5, 0.8]], False),
        (CONTINUOUS, [[1.0, 1.0] * 4], True),
        (BINARY, [[1.0, 1.0] * 500], False),  # two arms that hardly ever fail
        (BINARY, [[1.0, 0.0] * 500], False),
        (BINARY, [[0.5, 0.7] * 4], True),
        (BINARY, [[0.5, 0.5] * 4], True),
        (CONTINUOUS, [[0.5, 0.7] * 4 + [np.nextafter(0.5, 1)]], False),
    ],
)
def test_what_counts_as_repetition(noise: Noise, rewards: list[list[float]], refused: bool) -> None:
    assert phases(noise, *rewards) is refused


def test_two_repetitions_are_no_ground_for_a_certificate() -> None:
    replicates = Replicates(2, CONTINUOUS)
    found = []
    for pair, reward in [(0, 0.5), (1, 0.7), (0, 0.5), (1, 0.7), (1, 0.8)]:
        replicates.add(np.array([pair]), np.array([reward]))
        found.append(tuple(replicates.refusal(sure) is not None for sure in (True, False)))
    assert found == [*[(False, False)] * 3, (True, False), (False, False)]


def test_counts_must_repeat_more_often() -> None:
    def refused(repeats: int) -> bool:
        replicates = Replicates(3, SubGaussian(5.0))
        replicates.add(np.tile([0, 1, 2], repeats + 1), np.tile([7.0, 9.0, 4.0], repeats + 1))
        return replicates.refusal() is not None

    assert [refused(repeats) for repeats in (2, 6, 7)] == [False, False, True]


def test_successes_that_are_nearly_certain_go_on(path: Path) -> None:
    """All rewards are 1 for a long time, and the study asks for more instead of giving up."""
    with create(path, noise=SubGaussian(0.5), budget=500) as study:
        result = study.run(lambda pull: float(pull.rng().random() < 0.9999), "serial")
    assert result.reason is not sf.StopReason.IDENTICAL_REPLICATES


@pytest.mark.parametrize("shared", [False, True])
def test_a_reward_that_ignores_the_perturbation_is_certified_for_what_it_is(
    path: Path, shared: bool
) -> None:
    """All perturbations of an arm are equally bad then, and the arms can still be told apart."""
    problem = sf.RobustProblem.from_lists(
        [{"dose": dose} for dose in (1, 2, 3)], [{"name": "none"}, {"name": "more", "dose": 0.5}]
    )
    with Study.create(
        *(path, problem),
        delta=0.05,
        noise=Gaussian(),
        misfit=math.inf,
        seed=3,
        common_random_numbers=shared,
    ) as study:
        result = study.run(lambda pull: pull.nominal["dose"] + pull.rng().normal(), "serial")
    assert result.certified
    assert result.best_parameters == {"dose": 3.0}
    assert result.pair_means[4] == pytest.approx(result.pair_means[5], abs=1.5)


def pool(number: int) -> Replicates:
    """A simulator that draws from this many seeds only."""
    rng, found = np.random.default_rng(0), Replicates(4, Gaussian())
    values = rng.standard_normal((4, number))
    for _ in range(4):
        pairs = rng.integers(0, 4, 24)
        found.add(pairs, values[pairs, rng.integers(0, number, 24)])
    return found


def test_a_pool_of_seeds_is_counted_and_refused() -> None:
    assert pool(8).repeated > 40
    assert pool(8).refusal() is sf.StopReason.FEW_STREAMS
    assert pool(10**5).refusal(certified=True) is None


@pytest.mark.parametrize("step", [1.0, 0.1, 1 / 3, np.pi, 1e-3])
def test_values_of_steps_may_repeat(step: float) -> None:
    rng, found = np.random.default_rng(0), Replicates(4, Gaussian())
    for _ in range(5):
        found.add(rng.integers(0, 4, 50), 7 * step + step * rng.poisson(4, 50))
    assert found.refusal(certified=True) is None


def test_a_limit_that_rewards_reach_may_repeat() -> None:
    rng, found = np.random.default_rng(0), Replicates(4, Gaussian())
    found.add(rng.integers(0, 4, 200), np.minimum(rng.standard_normal(200), 1 / 7))
    assert found.refusal(certified=True) is None


def test_a_study_with_a_pool_of_seeds_ends(path: Path) -> None:
    def pooled(pull: Pull) -> float:
        return float(pull.features @ THETA + np.random.default_rng(pull.seed % 4).normal())

    with create(path, noise=Gaussian(), misfit=math.inf) as study:
        result = study.run(pooled, "serial")
        assert study.done
    assert result.reason is sf.StopReason.FEW_STREAMS
    assert not result.certified
    with StudyReader(path) as reader:
        assert reader.result.reason is sf.StopReason.FEW_STREAMS
