"""What a study will cost, before anything is spent: hardness and pulls by size of gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.algorithms import Algorithm, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.hardness import Complexity, complexity
from surefoot.noise import Gaussian, Noise
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator

GAPS = (2.0, 1.0, 0.5, 0.2, 0.1)
ALTERNATIVES = ("robust-rage", "robust-static")
LEAVE_OUT = ("robust-rage",)  # compares every pair with every arm, in memory and time alike
MOST_COMPARISONS = 4_000_000  # of a pair with an arm, times the dimension: seconds for each run
MOST_PAIRS = 200_000  # a simulated study of more takes minutes
MANY_PAIRS = 20_000  # from here on one draw has to do


@dataclass(frozen=True)
class Cost:
    """What to expect if the best arm's worst case is better than the second best by `gap`.

    Attributes:
        gap: in standard deviations of the noise.
        hardness: H*, in pulls.
        lower_bound: no algorithm with this confidence needs fewer pulls on average.
        pulls: by the name of the algorithm, as counted in simulated runs; None: most of them ended
            without an answer.
    """

    gap: float
    hardness: float
    lower_bound: float
    pulls: dict[str, float | None]


def expected_costs(
    problem: RobustProblem,
    settings: Settings,
    algorithm: Algorithm,
    gaps: Sequence[float] = GAPS,
    draws: int | None = None,
    seed: int = 0,
) -> Iterator[Cost]:
    """Costs for each gap: medians over random parameters θ, scaled to that gap.

    What the true θ is, only the study itself finds out; random ones show the order of magnitude.

    Args:
        draws: how many θ; by default 3, and 1 for large problems.
    """
    contestants = _contestants(problem, settings, algorithm)
    draws = draws or (3 if problem.n_pairs <= MANY_PAIRS else 1)
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    scales = _known(settings.noise).scales(problem.n_pairs)
    thetas = [_unit_gap_theta(problem, generator) * float(np.mean(scales)) for _ in range(draws)]
    hardness = [_hardness(problem, settings.trust, theta, scales) for theta in thetas]
    for gap in gaps:
        counted = {
            name: [_pulls(problem, contestant, gap * theta, scales, generator) for theta in thetas]
            for name, contestant in contestants.items()
        }
        yield Cost(
            gap,
            float(np.median([h.exact for h in hardness])) / gap**2,
            float(np.median([h.lower_bound(settings.delta) for h in hardness])) / gap**2,
            {name: _median(values) for name, values in counted.items()},
        )


def left_out(problem: RobustProblem) -> tuple[str, ...]:
    """The algorithms that cannot be simulated on a problem of this size."""
    comparisons = problem.n_pairs * problem.n_arms * problem.dimension
    return LEAVE_OUT if comparisons > MOST_COMPARISONS else ()


def _known(noise: Noise) -> Noise:
    """The noise with a scale: 1 where none is known. Gaps are in its units."""
    return noise if noise.known else Gaussian(1.0)


def _hardness(problem: RobustProblem, trust: str, theta: Array, scales: Array) -> Complexity:
    """The complexity of the features' problem, or if no model is trusted of the pairs' own."""
    if trust == "model":
        return complexity(problem, theta, 1e-2, problem.pairs / scales[:, None])
    alone = RobustProblem.from_pairs(np.eye(problem.n_pairs), problem.arm_of_pair)
    means = problem.pairs @ theta
    return complexity(alone, alone.pairs.T @ means, 1e-2, alone.pairs / scales[:, None])


class _Contestant(NamedTuple):
    algorithm: Algorithm
    settings: Settings


def _contestants(
    problem: RobustProblem, settings: Settings, algorithm: Algorithm
) -> dict[str, _Contestant]:
    """What is simulated, by name; a problem on which that takes too long is refused.

    Without a model there is nobody to compare with: the others rely on one.
    """
    if problem.n_arms < 2:
        raise InputError("the problem has a single arm: nothing has to be pulled")
    if problem.n_pairs > MOST_PAIRS:
        raise InputError(
            f"a plan simulates whole studies, which takes too long with {problem.n_pairs:,} pairs: "
            f"plan for a part of at most {MOST_PAIRS:,}, such as every tenth arm"
        )
    too_large = left_out(problem)
    if algorithm.name in too_large:
        raise InputError(
            f"{algorithm.name!r} compares every pair with every arm, too much for "
            f'{problem.n_pairs:,} pairs and {problem.n_arms:,} arms: choose algorithm = "prime"'
        )
    if settings.trust == "pairs":
        return {algorithm.name: _Contestant(algorithm, _simulated(settings))}
    known = Settings(delta=settings.delta, noise=_known(settings.noise), on_misfit="ignore")
    others = [name for name in ALTERNATIVES if name not in too_large]
    return {algorithm.name: _Contestant(algorithm, known)} | {
        name: _Contestant(algorithm_from(name), known) for name in others
    }


def _simulated(settings: Settings) -> Settings:
    """The settings of a study without a model, for simulated rewards: normal and independent."""
    return Settings(
        delta=settings.delta,
        noise=Gaussian() if settings.noise.limits else settings.noise,
        trust="pairs",
        tolerance=settings.tolerance if settings.noise.known else 0.0,
    )


def _unit_gap_theta(problem: RobustProblem, generator: np.random.Generator) -> Array:
    """(dimension,) random, of robust gap 1; whitened, so that all directions count alike."""
    whitening = np.linalg.pinv(problem.pairs) * np.sqrt(problem.n_pairs)
    for _ in range(100):
        theta = whitening @ generator.standard_normal(problem.n_pairs)
        gap = problem.robust_gaps(theta).min()
        if gap > 1e-6 * np.abs(theta).max():
            return np.asarray(theta / gap)
    raise InputError(
        "two arms are best together for every parameter: remove arms whose pairs are "
        "those of another"
    )


def _pulls(
    problem: RobustProblem,
    contestant: _Contestant,
    theta: Array,
    scales: Array,
    generator: np.random.Generator,
) -> float:
    """Pulls of one simulated run; infinitely many if it ends without an answer."""
    seed = np.random.SeedSequence(int(generator.integers(2**63)))
    simulator = LinearSimulator(problem, theta, scales, seed)
    run = contestant.algorithm.start(problem, contestant.settings)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return float(run.samples) if run.result.certified else np.inf


def _median(values: list[float]) -> float | None:
    middle = float(np.median(values))
    return middle if np.isfinite(middle) else None
