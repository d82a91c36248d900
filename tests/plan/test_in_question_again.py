"""Arms that are out come back where what beat them is seen to fall; rewards that fall are planted.

The other two arms are so close that pulls go on for long after the quiet one is out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.study import Pull, Study, StudyReader
from tests.study.file.test_follower import same_history

PROBLEM = sf.RobustProblem.from_pairs(np.eye(3), np.arange(3))
QUIET, FALLING = 0, 1
MEANS, SCALES = np.array([0.0, 0.3, 0.2]), np.array([0.02, 0.02, 0.6])
FALL, AT = -8.0, 13  # in all pulls from this phase on: by then the quiet arm is out
ASKED: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf, "budget": 700}
LONGER = ASKED | {"budget": 4000}


@dataclass
class Planted:
    """Normal rewards, and falls of one pair from a phase on."""

    seed: int
    fall: float = FALL

    def pull(self, phase: sf.Phase) -> sf.Outcome:
        rng = np.random.default_rng((self.seed, phase.index))
        pairs = np.repeat(np.arange(3), phase.counts)
        rewards = MEANS[pairs] + SCALES[pairs] * rng.standard_normal(len(pairs))
        rewards += self.fall * ((pairs == FALLING) & (phase.index >= AT))
        return sf.Outcome.from_rewards(phase, 3, pairs, rewards)


def falling(pull: Pull) -> float:
    fallen = FALL * (pull.pair == FALLING and pull.phase >= AT)
    return float(MEANS[pull.pair] + SCALES[pull.pair] * pull.rng().standard_normal() + fallen)


def alive(result: sf.Result, arm: int = QUIET) -> list[bool]:
    return [bool(record.survivors[arm]) for record in result.history]


def came_back(found: list[bool]) -> bool:
    return (False, True) in pairwise(found)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_an_arm_comes_back_once_a_fall_is_seen_in_what_beat_it(seed: int) -> None:
    honest = alive(sf.identify(PROBLEM, Planted(seed, 0.0), **ASKED))
    assert not honest[AT]
    assert not came_back(honest)
    found = sf.identify(PROBLEM, Planted(seed), **ASKED)
    assert alive(found)[: AT + 1] == honest[: AT + 1]
    assert came_back(alive(found))
    assert found.arm != FALLING


def test_no_arm_comes_back_where_nothing_falls() -> None:
    """Normal rewards of any noise: what is out seldom seems better later on."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        means, scales = rng.normal(0.0, 0.5, 6), np.exp(0.5 * rng.standard_normal(6))
        problem = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
        simulator = sf.LinearSimulator(problem, means, noise=scales, seed=seed)
        found = sf.identify(problem, simulator, **ASKED)
        assert not any(came_back(alive(found, arm)) for arm in range(3))


def test_a_certificate_in_which_an_arm_came_back_is_proved_and_resumed(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.db", tmp_path / "parts.db"
    with Study.create(whole, PROBLEM, seed=3, **LONGER) as study:
        expected = study.run(falling, "serial")
    assert expected.certified
    assert came_back(alive(expected))
    assert sf.verify(whole)
    Study.create(parts, PROBLEM, seed=3, **LONGER).close()
    back = alive(expected).index(True, alive(expected).index(False))
    for phase in (AT, back, back + 1, math.inf):  # broken off about where the arm comes back
        with Study.open(parts) as study:
            for pull in study.pulls():
                if pull.phase > phase:
                    break
                study.tell(pull, falling(pull))
    with StudyReader(parts) as reader:
        assert same_history(reader.result, expected)
