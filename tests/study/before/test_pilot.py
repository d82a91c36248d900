"""A pilot: what a few pulls say about a simulator; and a study in memory is the study on disk."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from surefoot import Bounded, Gaussian, Prime, Study
from surefoot.errors import InputError
from surefoot.study import Pull
from surefoot.study.before.pilot import Pilot, run_pilot
from surefoot.study.before.rehearsal import rehearse
from tests.study.toys import THETA, Rounds, linear, same_result, toy_problem, toy_study


def noisy(pull: Pull) -> float:
    """Noise of its own in every pull, four times as much where the pair is odd."""
    return float(pull.features @ THETA + (1 + 3 * (pull.pair % 2)) * own(pull))


def own(pull: Pull) -> float:
    return float(np.random.default_rng([pull.seed, pull.pair]).normal())


def pilot(simulator: object, pulls: int = 200) -> Pilot:
    return run_pilot(toy_problem(), simulator, pairs=4, pulls=pulls, seed=0)


def test_noise_that_differs_is_measured() -> None:
    found = pilot(lambda pull: noisy(pull) if pull.pair else own(pull))
    assert found.rewards.shape == (200, 4)
    assert found.ratio == pytest.approx(4, rel=0.25)
    assert found.shared_variance == pytest.approx(1, abs=0.15)
    assert abs(found.skewness) < 0.5
    assert found.suggestions() == ["nothing: leave the configuration as it is"]


def test_common_random_numbers_are_suggested_where_they_help() -> None:
    found = pilot(lambda pull: pull.rng().normal() + 0.1 * own(pull), pulls=30)
    assert found.shared_variance < 0.1
    assert any("common_random_numbers" in words for words in found.suggestions())
    assert not any("common_random_numbers" in words for words in found.suggestions("auto"))


def test_noise_that_is_all_shared_leaves_no_variance_and_not_less() -> None:
    assert 0 <= pilot(lambda pull: pull.rng().normal(), pulls=10).shared_variance < 1e-12


def test_success_rates_are_recognised() -> None:
    found = pilot(lambda pull: float(own(pull) > 0), pulls=10)
    assert 'kind = "bounded", low = 0, high = 1' in found.suggestions()[0]


def test_a_fixed_seed_is_noticed() -> None:
    found = pilot(lambda pull: float(pull.features @ THETA), pulls=3)
    assert np.isnan(found.shared_variance)
    assert found.suggestions()[0].startswith("all pulls of a pair gave the same reward")


def test_skewed_rewards_are_noticed() -> None:
    found = pilot(lambda pull: -np.exp(2 * own(pull)), pulls=100)
    assert found.skewness < -1
    assert "rewards are skewed" in found.suggestions()[-1]
    assert "rarest = 0.02" in found.suggestions()[-1]


def test_a_quiet_pair_is_noticed() -> None:
    found = pilot(lambda pull: own(pull) * (1.0 if pull.pair else 1e-3), pulls=10)
    assert "some pairs hardly vary" in found.suggestions()[-1]


def test_no_study_uses_the_streams_of_a_pilot(tmp_path) -> None:
    seeds: set[int] = set()
    pilot(lambda pull: seeds.add(pull.seed) or own(pull), pulls=10)
    with toy_study(tmp_path / "study.db", seed=0) as study:
        assert not seeds & {pull.seed for pull in study.ask()}


def test_a_simulator_that_fails_is_named_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"failed for arm 'arm 0'.*ZeroDivisionError"):
        pilot(lambda pull: 1 / 0)
    with pytest.raises(InputError, match="give 3 or more"):
        pilot(noisy, pulls=2)


def test_every_pair_is_pulled_once() -> None:
    """A pair that always fails is named before anything else is spent."""
    problem, seen = toy_problem(), set()
    found = run_pilot(problem, lambda pull: seen.add(pull.pair) or own(pull), 2, 3, 0)
    assert len(seen) == problem.n_pairs == 2 + found.once

    def broken(pull):
        return 1 / 0 if pull.pair == 1 else own(pull)

    with pytest.raises(InputError, match=r"failed for arm.*ZeroDivisionError"):
        run_pilot(problem, broken, 2, 3, 0)


def test_a_pilot_is_kept_by_the_names_of_its_pairs() -> None:
    found, problem = pilot(noisy, pulls=5), toy_problem()
    again = Pilot.from_json(found.to_json(problem), problem)
    assert again.pairs.tolist() == found.pairs.tolist()
    assert again.rewards.tobytes() == found.rewards.tobytes()
    assert np.array_equal(again.times, found.times)
    assert found.times.shape == found.rewards.shape
    assert found.durations.mean == pytest.approx(found.times.mean())
    other = toy_problem(3)
    for text in (found.to_json(problem), "{}", "[", '{"pairs": [], "rewards": [], "times": []}'):
        with pytest.raises(InputError, match="no pilot of these arms"):
            Pilot.from_json(text, other)


def test_pairs_that_were_not_tried_have_typical_noise() -> None:
    found = Pilot(np.array([0, 2]), np.array([[0.0, 0], [1, 3], [2, 6]]), np.ones((3, 2)))
    assert found.scales(4) == pytest.approx([1, 2, 3, 2])  # the median: one wild pair says little
    assert found.common_share > 0.5
    with pytest.raises(InputError, match="is the seed fixed"):
        Pilot(np.array([0]), np.zeros((3, 1)), np.ones((3, 1))).scales(2)


def test_a_pull_that_cannot_be_repeated_is_pointed_out() -> None:
    draws = np.random.default_rng(0)
    found = pilot(lambda pull: float(draws.normal()))
    assert "the same pull gave another reward" in found.suggestions()[0]
    assert pilot(lambda pull: float(pull.rng().normal())).repeatable


def test_a_rehearsal_comes_out_as_the_study_does_to_the_bit(tmp_path: Path) -> None:
    with toy_study(tmp_path / "toy.db", rounds=3) as study:
        rehearsed = rehearse(study.description, linear, Rounds(3))
        assert same_result(rehearsed, study.run(linear, "serial"))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_with_shared_streams_too(tmp_path: Path, direction: str) -> None:
    with Study.create(
        tmp_path / "shared.db",
        toy_problem(),
        Prime(),
        delta=0.1,
        noise=Gaussian(),
        misfit=math.inf,
        common_random_numbers=True,
        direction=direction,  # type: ignore[arg-type]
        seed=5,
    ) as study:
        rehearsed = rehearse(study.description, jointly)
        assert rehearsed.certified
        assert same_result(rehearsed, study.run(jointly, "serial"))


def jointly(pull: Pull) -> float:
    own = pull.rng().normal() + 0.1 * pull.stream(1 + pull.pair).normal()
    return float(pull.features @ THETA + own)


def test_numbers_begin_where_they_are_told_to(tmp_path: Path) -> None:
    seen: list[int] = []
    with toy_study(tmp_path / "toy.db", rounds=2) as study:
        rehearse(study.description, lambda pull: seen.append(pull.id) or linear(pull), Rounds(2), 7)
    assert sorted(seen) == list(range(7, 7 + len(seen)))


def test_impossible_rewards_and_failures_are_sentences(tmp_path: Path) -> None:
    with toy_study(tmp_path / "toy.db", rounds=2, noise=Bounded(0, 1)) as study:
        with pytest.raises(InputError, match="all lie between 0 and 1"):
            rehearse(study.description, lambda pull: 2.0, Rounds(2))
        with pytest.raises(InputError, match="ZeroDivisionError"):
            rehearse(study.description, lambda pull: 1 / 0, Rounds(2))
