"""What a study will cost, before anything is spent: hardness and pulls for a range of gaps, by simulated rewards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.algorithms import Algorithm, Settings, algorithm_from
from surefoot.complexity import complexity
from surefoot.errors import InputError
from surefoot.noise import Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator
from surefoot.statistics import Array

GAPS = (2.0, 1.0, 0.5, 0.2, 0.1)
ALTERNATIVES = ("robust-rage", "robust-static")


@dataclass(frozen=True)
class Cost:
    """What to expect if the best arm's worst case is better than the second best by `gap`.

    Attributes:
        gap: in standard deviations of the noise.
        hardness: H*, in pulls.
        lower_bound: no algorithm with this confidence needs fewer pulls on average.
        pulls: by the name of the algorithm, as counted in simulated runs; None: it did not stop within its budget.
    """

    gap: float
    hardness: float
    lower_bound: float
    pulls: dict[str, float | None]


def forecast(
    problem: RobustProblem,
    settings: Settings,
    algorithm: Algorithm,
    gaps: Sequence[float] = GAPS,
    draws: int = 3,
    seed: int = 0,
) -> Iterator[Cost]:
    """Costs for each gap: medians over random parameters θ, scaled to that gap.

    What the true θ is, only the study itself finds out; random ones show the order of magnitude.
    """
    if problem.n_arms < 2:
        raise InputError("the problem has a single arm: nothing has to be pulled")
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    known = Settings(
        delta=settings.delta,
        noise=settings.noise if settings.noise.known else Gaussian(1.0),
        tolerance=0.0,
        on_misfit="ignore",
    )
    scale = float(np.mean(known.noise.scales(problem.n_pairs)))
    thetas = [_unit_gap_theta(problem, generator) * scale for _ in range(draws)]
    rows = problem.pairs / known.noise.scales(problem.n_pairs)[:, None]
    hardness = [complexity(problem, theta, 1e-2, rows) for theta in thetas]
    contestants = {algorithm.name: algorithm} | {name: algorithm_from(name) for name in ALTERNATIVES}
    for gap in gaps:
        counted = {
            name: [_pulls(problem, known, contestant, gap * theta, generator) for theta in thetas]
            for name, contestant in contestants.items()
        }
        yield Cost(
            gap,
            float(np.median([h.exact for h in hardness])) / gap**2,
            float(np.median([h.lower_bound(settings.delta) for h in hardness])) / gap**2,
            {name: _median(values) for name, values in counted.items()},
        )


def _unit_gap_theta(problem: RobustProblem, generator: np.random.Generator) -> Array:
    """(dimension,) random, with robust gap 1; whitened, so that every direction of the features counts alike."""
    for _ in range(100):
        whitening = np.linalg.pinv(problem.pairs) * np.sqrt(problem.n_pairs)
        theta = whitening @ generator.standard_normal(problem.n_pairs)
        gap = np.sort(problem.robust_values(theta))[-1] - np.sort(problem.robust_values(theta))[-2]
        if gap > 1e-6 * np.abs(theta).max():
            return np.asarray(theta / gap)
    raise InputError("two arms are best together for every parameter: remove arms whose pairs are those of another")


def _pulls(
    problem: RobustProblem, settings: Settings, algorithm: Algorithm, theta: Array, generator: np.random.Generator
) -> float:
    noise = settings.noise.scales(problem.n_pairs)
    simulator = LinearSimulator(problem, theta, noise, seed=np.random.SeedSequence(int(generator.integers(2**63))))
    run = algorithm.start(problem, settings)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return float(run.samples) if run.result.certified else np.inf


def _median(values: list[float]) -> float | None:
    middle = float(np.median(values))
    return middle if np.isfinite(middle) else None
