"""Contests between algorithms: the same work for each, with standard errors and errors counted."""

from __future__ import annotations

import math
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm
from surefoot.arrays import Array
from surefoot.noise import Gaussian, Noise
from surefoot.problem import RobustProblem
from surefoot.processes import ONE_THREAD
from surefoot.simulate import Family, LinearSimulator, identify

PROCESSES = int(os.environ.get("SUREFOOT_BENCH_PROCESSES", "2"))


@dataclass(frozen=True)
class Contest:
    """What all contenders are to solve.

    Attributes:
        means: (n_arms, n_own) mean rewards.
        scales: (n_arms, n_own) standard deviations, or one number.
        noise: what the contenders are told about them.
        correlation: of rewards that share a stream.
    """

    name: str
    means: Array
    scales: ArrayLike = 1.0
    noise: Noise = field(default_factory=Gaussian)
    family: Family = "gaussian"
    delta: float = 0.05
    correlation: float = 0.0

    def problem(self) -> RobustProblem:
        n_arms, n_own = self.means.shape
        places = np.stack(np.meshgrid(np.arange(n_arms), np.arange(n_own), indexing="ij"), axis=-1)
        arm = np.repeat(np.arange(n_arms), n_own)
        pairs = places.reshape(-1, 2).astype(np.float64)
        return RobustProblem.from_pairs(pairs, arm, features="tabular")


@dataclass(frozen=True)
class Contender:
    """An algorithm with the settings that it is given in addition."""

    label: str
    algorithm: str | Algorithm
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """What came of a contender's runs: pulls, their standard error, and wrong arms."""

    mean: float
    error: float
    wrong: int
    runs: int

    @property
    def right(self) -> float:
        return 1 - self.wrong / self.runs

    @property
    def right_error(self) -> float:
        return math.sqrt(max(self.right * (1 - self.right), 1 / self.runs) / self.runs)

    def near(self, reference: float) -> bool:
        """Whether it is within 5 %, or within three standard errors if runs are few."""
        return abs(self.mean - reference) <= max(0.05 * reference, 3 * self.error)

    def __str__(self) -> str:
        return f"{self.mean:.0f} ± {self.error:.0f}; {self.wrong} of {self.runs} wrong"


def held(jobs: list[tuple[Contest, Contender, int]]) -> list[Cell]:
    """One cell for each (contest, contender, number of runs), in this order."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    if PROCESSES == 1:
        return [run_all(*job) for job in jobs]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(run_all, *zip(*jobs, strict=True)))


def run_all(contest: Contest, contender: Contender, runs: int) -> Cell:
    """All runs of one contender; the k-th run of every contender has the same seed."""
    problem, means = contest.problem(), contest.means.ravel()
    scales = np.broadcast_to(np.asarray(contest.scales, dtype=np.float64), contest.means.shape)
    best = int(np.argmax(contest.means.min(axis=1)))
    samples, wrong = [], 0
    for seed in np.random.SeedSequence(2026).spawn(runs):
        simulator = LinearSimulator(
            problem, means, scales.ravel(), seed, contest.family, contest.correlation
        )
        result = identify(
            problem,
            simulator,
            contender.algorithm,
            delta=contest.delta,
            noise=contest.noise,
            trust="pairs",
            **contender.settings,
        )
        samples.append(result.samples)
        wrong += result.arm != best
    return Cell(float(np.mean(samples)), float(np.std(samples) / math.sqrt(runs)), int(wrong), runs)
