"""Kinds of studies whose drivers are killed: what pulls share, what rewards and parameters are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import Bounded, Gaussian, Prime, RobustProblem, Study, StudyReader
from surefoot.study import Pull
from surefoot.study.toml.space import Arms, Perturbations, build_problem
from tests.study.toys import linear, open_toy, toy_problem, toy_study
from tests.study.toys import rewards_of as toy_rewards

ROUNDS, SIZE = 12, 5
PULLS = 500  # of a study that is nearly tied, so that it lasts


@dataclass(frozen=True)
class Kind:
    """How a study is made, opened, simulated and read."""

    create: Callable[[Path], Study]
    simulate: Callable[[Pull], float]
    open: Callable[[Path], Study] = Study.open
    rewards_of: Callable[[Path], list[tuple[int, int, float]]] = lambda path: _rewards(path)

    @property
    def slowly(self) -> Late:
        """The same rewards, so late that a driver can be killed in the middle."""
        return Late(self.simulate)


def jointly(pull: Pull) -> float:
    """Noise that the pulls of a block share, and a little of their own."""
    return 0.01 * pull.pair + pull.rng().normal() + 0.2 * pull.stream(1 + pull.pair).normal()


def apart(pull: Pull) -> float:
    return float(0.01 * pull.pair + pull.rng().normal())


def coin(pull: Pull) -> float:
    return float(pull.rng().random() < 0.5 + 0.01 * (pull.pair % 3))


def of_a_kind(pull: Pull) -> float:
    """Words and truth values reach the simulator as they are."""
    better = {"plain": 0.0, "fancy": 0.02, "odd": 0.01}[pull.parameters["kind"]]
    return better + 0.01 * (pull.parameters["on"] is True) + pull.rng().normal()


@dataclass(frozen=True)
class Late:
    """A simulator that takes its time."""

    simulator: Callable[[Pull], float]

    @property
    def __wrapped__(self) -> Callable[[Pull], float]:
        return self.simulator

    def __call__(self, pull: Pull) -> float:
        time.sleep(0.02)
        return self.simulator(pull)


def _prime(problem: RobustProblem, **asked: Any) -> Callable[[Path], Study]:
    usual: dict[str, Any] = {"delta": 0.05, "noise": Gaussian(), "misfit": math.inf, "seed": 4}
    return lambda path: Study.create(path, problem, Prime(), budget=PULLS, **(usual | asked))


def _categories() -> RobustProblem:
    arms = [{"kind": kind, "on": True} for kind in ("plain", "fancy", "odd")]
    spoilt = [{"name": "as it is"}, {"name": "off", "on": False}]
    return build_problem(Arms(list=arms), Perturbations(list=spoilt), {}, "tabular", Path())


def _rewards(path: Path) -> list[tuple[int, int, float]]:
    with StudyReader(path) as reader:
        return list(reader.pulls()[["id", "pair", "reward"]].itertuples(index=False, name=None))


TABLE = RobustProblem.from_pairs(np.eye(6), [0, 0, 1, 1, 2, 2])
KINDS = {
    "plain": Kind(
        lambda path: toy_study(path, ROUNDS, SIZE),
        linear,
        lambda path: open_toy(path, ROUNDS, SIZE),
        toy_rewards,
    ),
    "common random numbers": Kind(_prime(TABLE, common_random_numbers=True), jointly),
    "bounded": Kind(_prime(toy_problem(), noise=Bounded(0, 1), common_random_numbers="auto"), coin),
    "phases in flight": Kind(_prime(TABLE, parallel=4, in_flight=3), apart),
    "categories": Kind(_prime(_categories()), of_a_kind),
}
