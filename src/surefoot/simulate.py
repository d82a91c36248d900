"""LinearSimulator, and identify(): the whole loop on one screen."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm, Result, Settings, algorithm_from
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise
from surefoot.problem import RobustProblem
from surefoot.statistics import Counts, Outcome, Phase

Family = Literal["gaussian", "uniform", "rademacher"]
LARGE = 10_000


class Simulator(Protocol):
    """Anything that pulls a phase."""

    def pull(self, phase: Phase) -> Outcome: ...


def identify(
    problem: RobustProblem,
    simulator: Simulator,
    algorithm: str | Algorithm = "prime",
    *,
    delta: float,
    noise: Noise,
    tolerance: float = 0.0,
    budget: int | None = None,
    confidence: Literal["valid", "paper"] = "valid",
    on_misfit: Literal["reject", "ignore"] = "reject",
) -> Result:
    """Find the arm with the best worst case, pulling the simulator phase by phase."""
    settings = Settings(
        delta=delta,
        noise=noise,
        confidence=confidence,
        tolerance=tolerance,
        budget=budget,
        on_misfit=on_misfit,
    )
    run = algorithm_from(algorithm).start(problem, settings)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return run.result


class LinearSimulator:
    """Rewards zᵀθ + noise, drawn as the sufficient statistics of a whole phase: 10⁹ pulls cost as
    much as 10.

    Args:
        theta: for the features, or for the problem's reduced basis.
        noise: standard deviation, one number or one per pair. All three families are sub-Gaussian
            with this scale.
        seed: anything that numpy.random.default_rng takes.
        family: "gaussian" and "rademacher" are exact; "uniform" is by the central limit theorem
            above 10 000 pulls of a pair.
    """

    def __init__(
        self,
        problem: RobustProblem,
        theta: ArrayLike,
        noise: ArrayLike = 1.0,
        seed: int | np.random.SeedSequence | None = None,
        family: Family = "gaussian",
    ) -> None:
        if family not in ("gaussian", "uniform", "rademacher"):
            raise InputError(
                f'family={family!r} is not known: choose "gaussian", "uniform" or "rademacher"'
            )
        self.means = problem.pair_means(theta)
        self.scales = Gaussian(noise).scales(problem.n_pairs)
        self.family: Family = family
        self._generator = np.random.default_rng(seed)

    def pull(self, phase: Phase) -> Outcome:
        pulled = np.flatnonzero(phase.counts)
        counts = phase.counts[pulled]
        draw = {"gaussian": _gaussian, "uniform": _uniform, "rademacher": _rademacher}[self.family]
        noise_sums, noise_scatter = draw(self._generator, counts)
        sums, scatter = np.zeros(len(phase.counts)), np.zeros(len(phase.counts))
        sums[pulled] = counts * self.means[pulled] + self.scales[pulled] * noise_sums
        scatter[pulled] = self.scales[pulled] ** 2 * noise_scatter
        return Outcome(phase.index, phase.counts, sums, scatter)


def _gaussian(generator: np.random.Generator, counts: Counts) -> tuple[Array, Array]:
    """Sum and scatter of standard normal draws are independent: N(0, n) and χ² with n − 1 degrees
    of freedom.
    """
    sums = np.sqrt(counts) * generator.standard_normal(len(counts))
    scatter = np.where(counts > 1, 2 * generator.standard_gamma(np.maximum(counts - 1, 1) / 2), 0.0)
    return sums, scatter


def _rademacher(generator: np.random.Generator, counts: Counts) -> tuple[Array, Array]:
    """±1 with equal chance: the sum is binomial, every square is 1."""
    sums = (2 * generator.binomial(counts, 0.5) - counts).astype(np.float64)
    return sums, counts - sums**2 / counts


def _uniform(generator: np.random.Generator, counts: Counts) -> tuple[Array, Array]:
    """Uniform on ±√3 (variance 1), one by one while that is cheap, by the central limit theorem
    beyond.
    """
    sums, squares = np.empty(len(counts)), np.empty(len(counts))
    for k, n in enumerate(counts):
        if n <= LARGE:
            draws = generator.uniform(-np.sqrt(3), np.sqrt(3), n)
            sums[k], squares[k] = draws.sum(), (draws**2).sum()
        else:  # E u² = 1, Var u² = 9/5 − 1, and u, u² are uncorrelated
            sums[k] = np.sqrt(n) * generator.standard_normal()
            squares[k] = n + np.sqrt(0.8 * n) * generator.standard_normal()
    return sums, np.maximum(squares - sums**2 / counts, 0.0)
