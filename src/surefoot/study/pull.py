"""A pull: one call of the simulator, with its number, its pair and its own random stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem import RobustProblem

RESERVED = ("id", "seed", "arm", "perturbation", "block", "stream")


def refuse_reserved(parameter_names: Iterable[str]) -> None:
    """Refuse parameters that are called like something that each pull has of its own."""
    for name in parameter_names:
        if name in RESERVED:
            raise InputError(
                f"a parameter cannot be called {name!r}, since every pull has a {name} of its own: "
                f"rename it, to {name}_value for example"
            )


@dataclass(frozen=True, eq=False)
class Pull:
    """What a simulator is given.

    The random stream depends on the study's seed and the pull's number alone, so a retry, on any
    machine and in any order, gives the same reward.

    Attributes:
        id: the number of the pull, 0 for the first of the study.
        study: the identifier of the study that asked for it.
        phase: the phase it belongs to.
        pair: the row of the pair in the problem.
        arm, perturbation: their names.
        parameters: what is to be simulated, x − y, by name.
        features: (n_features,) the feature map's image of the parameters.
        study_seed: the seed of the whole study.
    """

    id: int
    study: str
    phase: int
    pair: int
    arm: str
    perturbation: str
    parameters: dict[str, float]
    features: Array
    study_seed: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the features as bytes: an array would be most of the cost of a tiny pull."""
        words = (self.id, self.study, self.phase, self.pair, self.arm, self.perturbation)
        return _received, (words, self.parameters, self.features.tobytes(), self.study_seed)

    @property
    def seed_sequence(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.study_seed, spawn_key=(self.id,))

    def rng(self) -> np.random.Generator:
        """A fresh generator at the beginning of this pull's stream."""
        return np.random.default_rng(self.seed_sequence)

    @property
    def seed(self) -> int:
        """A whole number below 2³¹ from the same stream, for programs that want one."""
        return int(self.seed_sequence.generate_state(1)[0] >> 1)


def _received(
    words: tuple[int, str, int, int, str, str],
    parameters: dict[str, float],
    features: bytes,
    study_seed: int,
) -> Pull:
    return Pull(*words, parameters, np.frombuffer(features), study_seed)


class PullFactory:
    """Makes the pulls of one study, with the names and numbers of each pair looked up once."""

    def __init__(self, problem: RobustProblem, study: str, study_seed: int) -> None:
        self._problem, self._study, self._seed = problem, study, study_seed
        self._parameters: dict[int, dict[str, float]] = {}

    def __call__(self, number: int, phase: int, pair: int) -> Pull:
        problem = self._problem
        parameters = self._parameters.get(pair)
        if parameters is None:
            values = problem.parameters[pair].tolist()
            parameters = self._parameters[pair] = dict(
                zip(problem.parameter_names, values, strict=True)
            )
        return Pull(
            id=number,
            study=self._study,
            phase=phase,
            pair=pair,
            arm=problem.arm_names[int(problem.arm_of_pair[pair])],
            perturbation=problem.perturbation_names[pair],
            parameters=parameters.copy(),
            features=problem.features[pair],
            study_seed=self._seed,
        )


@dataclass(frozen=True)
class Report:
    """What came of a pull: a reward, or what went wrong.

    Attributes:
        id: the number of the pull.
        reward: as measured; None if it failed.
        error: what went wrong; None if nothing.
        started, finished: seconds since 1970, by the clock of the machine that simulated.
    """

    id: int
    reward: float | None
    error: str | None
    started: float | None
    finished: float
