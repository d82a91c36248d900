"""Run an algorithm many times and test "errors ≤ δ" exactly, instead of comparing rates with
made-up margins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.algorithms import Algorithm, Result
from surefoot.experiments.instances import Instance
from surefoot.noise import Gaussian, Noise
from surefoot.proportions import Proportion
from surefoot.simulate import Family, LinearSimulator, identify

# a right algorithm fails a test with at most this probability; the seeds are fixed, so only once
LEVEL = 1e-3


@dataclass(frozen=True)
class ErrorTest:
    """The outcome of the runs.

    Attributes:
        runs: how many.
        certified: in how many a certificate was given.
        errors: in how many of those the arm was wrong.
        delta: how often that may happen.
        samples: mean number of pulls.
    """

    runs: int
    certified: int
    errors: int
    delta: float
    samples: float

    @property
    def p_value(self) -> float:
        """P(at least this many errors) if each run errs with probability δ: exact, binomial."""
        return Proportion(self.errors, self.runs).excess(self.delta)

    @property
    def rejected(self) -> bool:
        """True if "errors ≤ δ" is refuted."""
        return self.p_value < LEVEL


def error_test(
    make: Callable[[Instance], Algorithm | str],
    instance: Instance,
    *,
    delta: float = 0.05,
    runs: int = 400,
    seed: int = 1,
    noise: Noise | None = None,
    true_scale: float = 1.0,
    family: Family = "gaussian",
    misfit: float = 0.0,
    **settings: Any,
) -> ErrorTest:
    """Run the algorithm on the instance with independent seeds; the model is right, so a test that
    rejects it is ignored.
    """
    problem, theta = instance
    best, algorithm = problem.best_arm(theta), make(instance)

    def once(child: np.random.SeedSequence) -> Result:
        simulator = LinearSimulator(problem, theta, true_scale, seed=child, family=family)
        return identify(
            problem,
            simulator,
            algorithm,
            delta=delta,
            noise=Gaussian(1.0) if noise is None else noise,
            misfit=misfit,
            on_misfit="ignore",
            **settings,
        )

    results = [once(child) for child in np.random.SeedSequence(seed).spawn(runs)]
    certified = [result for result in results if result.certified]
    return ErrorTest(
        runs=runs,
        certified=len(certified),
        errors=sum(result.arm != best for result in certified),
        delta=delta,
        samples=float(np.mean([result.samples for result in results])),
    )
