"""Small problems on which the peers are tried, written as tables of mean rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm, Result
from surefoot.noise import Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, LinearSimulator, identify
from surefoot.testing import ErrorTest


def table(means: ArrayLike) -> tuple[RobustProblem, np.ndarray]:
    """One row per arm, one column per perturbation; nothing is known about their relation."""
    values = np.asarray(means, dtype=np.float64)
    n_arms, n_own = values.shape
    pairs = np.arange(values.size, dtype=np.float64)[:, None]
    arm = np.repeat(np.arange(n_arms), n_own)
    return RobustProblem.from_pairs(pairs, arm, features="tabular"), values.ravel()


def slippage(n_arms: int, n_own: int) -> tuple[RobustProblem, np.ndarray]:
    """The least favourable means for a zone of 1: one pair of each rival is 1 below."""
    means = np.zeros((n_arms, n_own))
    means[1:, 0] = -1.0
    return table(means)


def solved(
    algorithm: str | Algorithm,
    instance: tuple[RobustProblem, np.ndarray],
    *,
    scale: Any = 1.0,
    seed: Any = 0,
    family: Family = "gaussian",
    correlation: Any = 0.0,
    noise: Noise | None = None,
    delta: float = 0.05,
    **settings: Any,
) -> Result:
    simulator = LinearSimulator(*instance, scale, seed, family=family, correlation=correlation)
    noise = Gaussian() if noise is None else noise
    return identify(
        instance[0], simulator, algorithm, delta=delta, noise=noise, misfit=math.inf, **settings
    )


def errors(run: Callable[[np.random.SeedSequence], Result], best: int, runs: int) -> ErrorTest:
    """How often an arm other than the best is named, by an exact test."""
    found = [run(seed) for seed in np.random.SeedSequence(1).spawn(runs)]
    wrong = sum(result.arm != best for result in found)
    samples = float(np.mean([result.samples for result in found]))
    return ErrorTest(runs, runs, wrong, found[0].settings.delta, samples)
