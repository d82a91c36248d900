"""A contest: the same work, with the same seeds, for every contender."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm
from surefoot.arrays import Array
from surefoot.noise import Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, Simulator, TableSimulator, identify


class Work(Protocol):
    """What contenders solve: a problem, a fresh simulator for each run, and the right answer."""

    @property
    def noise(self) -> Noise: ...
    @property
    def delta(self) -> float: ...
    @property
    def best(self) -> int: ...
    def problem(self) -> RobustProblem: ...
    def simulator(self, seed: np.random.SeedSequence) -> Simulator: ...


@dataclass(frozen=True, eq=False)
class Contest:
    """Work with given means.

    Attributes:
        means: (n_arms, n_own) mean rewards.
        scales: (n_arms, n_own) standard deviations, or one number.
        noise: what the contenders are told about them.
        family: of the noise.
        delta: the probability with which an answer may be wrong.
        correlation: of rewards that share a stream.
    """

    name: str
    means: Array
    scales: ArrayLike = 1.0
    noise: Noise = field(default_factory=Gaussian)
    family: Family = "gaussian"
    delta: float = 0.05
    correlation: float = 0.0

    @property
    def best(self) -> int:
        return int(np.argmax(self.means.min(axis=1)))

    def problem(self) -> RobustProblem:
        return tabular(*self.means.shape)

    def simulator(self, seed: np.random.SeedSequence) -> TableSimulator:
        scales = np.broadcast_to(np.asarray(self.scales, dtype=np.float64), self.means.shape)
        return TableSimulator(
            self.means.ravel(), scales.ravel(), seed, self.family, self.correlation
        )


@dataclass(frozen=True)
class Run:
    """What came of one run."""

    samples: int
    certified: bool
    correct: bool


@dataclass(frozen=True)
class Contender:
    """An algorithm with the settings that it is given in addition."""

    label: str
    algorithm: str | Algorithm
    settings: dict[str, Any] = field(default_factory=dict)

    def run(self, work: Work, problem: RobustProblem, seed: np.random.SeedSequence) -> Run:
        """Solve it once, with the noise of this seed."""
        result = identify(
            problem,
            work.simulator(seed),
            self.algorithm,
            delta=work.delta,
            noise=work.noise,
            misfit=math.inf,
            **self.settings,
        )
        return Run(result.samples, result.certified, result.arm == work.best)


def tabular(n_arms: int, n_own: int) -> RobustProblem:
    """Arms with the same number of perturbations each, about which nothing else is known."""
    arms, own = np.meshgrid(np.arange(n_arms), np.arange(n_own), indexing="ij")
    places = np.stack([arms.ravel(), own.ravel()], axis=1).astype(np.float64)
    return RobustProblem.from_pairs(places, arms.ravel(), features="tabular")
