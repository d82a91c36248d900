"""What a study will cost, before anything is spent: hardness and pulls by size of gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.algorithms import Algorithm, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.hardness import complexity
from surefoot.noise import Gaussian, Noise
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify

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
    contestants = _contestants(problem, algorithm)
    draws = draws or (3 if problem.n_pairs <= MANY_PAIRS else 1)
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    noise = settings.noise if settings.noise.known else Gaussian(1.0)
    scales = noise.scales(problem.n_pairs)
    thetas = [_unit_gap_theta(problem, generator) * float(np.mean(scales)) for _ in range(draws)]
    hardness = [
        complexity(problem, theta, 1e-2, problem.pairs / scales[:, None]) for theta in thetas
    ]
    for gap in gaps:
        counted = {
            name: [
                _pulls(problem, contestant, settings.delta, noise, gap * theta, generator)
                for theta in thetas
            ]
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


def _contestants(problem: RobustProblem, algorithm: Algorithm) -> dict[str, Algorithm]:
    """What is simulated, by name; a problem on which that takes too long is refused."""
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
    others = [name for name in ALTERNATIVES if name not in too_large]
    return {algorithm.name: algorithm} | {name: algorithm_from(name) for name in others}


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
    algorithm: Algorithm,
    delta: float,
    noise: Noise,
    theta: Array,
    generator: np.random.Generator,
) -> float:
    """Pulls of one simulated run; infinitely many if it ends without an answer."""
    seed = np.random.SeedSequence(int(generator.integers(2**63)))
    simulator = LinearSimulator(problem, theta, noise.scales(problem.n_pairs), seed)
    result = identify(problem, simulator, algorithm, delta=delta, noise=noise, on_misfit="ignore")
    return float(result.samples) if result.certified else np.inf


def _median(values: list[float]) -> float | None:
    middle = float(np.median(values))
    return middle if np.isfinite(middle) else None
