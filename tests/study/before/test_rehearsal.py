"""A study in memory is the study on disk."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from surefoot import Bounded, Gaussian, InputError, Prime, Study
from surefoot.study import Pull
from surefoot.study.before.rehearsal import rehearse
from tests.study.toys import THETA, Rounds, linear, same_result, toy_problem, toy_study


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
