"""LinearSimulator, and identify(): the whole loop on one screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm, Result, Settings, algorithm_from
from surefoot.algorithms.settings import Asked, default_misfit
from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome, Phase

Family = Literal["gaussian", "uniform", "rademacher", "bernoulli"]
LARGE = 10_000


class _Shape(TypedDict, total=False):
    """The shape of the noise, beside its size: see `TableSimulator`."""

    family: Family
    correlation: ArrayLike


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
    baseline: str | None = None,
    **asked: Unpack[Asked],
) -> Result:
    """Find the arm with the best worst case, pulling the simulator phase by phase.

    `algorithm` is a name or an instance; all that follows it is described in `Settings`. `misfit`
    must be given where pairs have features and the algorithm could do without a model.
    """
    if not hasattr(simulator, "pull"):
        raise InputError(
            f"the simulator is {simulator!r:.80}, which has no pull(phase): sf.find(function, "
            "problem) calls a function; identify wants an object like LinearSimulator"
        )
    chosen = algorithm_from(algorithm)
    reduced = problem.dimension < problem.n_pairs
    if reduced and "misfit" not in asked and "misfit" in chosen.supports:
        raise InputError(
            f"{problem.n_pairs} pairs have {problem.dimension} features: say how far rewards may "
            "be from a linear function of these: misfit=0 (the model is exact), misfit=0.1 (means "
            "are off by 0.1 at most), or misfit=math.inf (no model: pairs are compared directly)"
        )
    asked.setdefault("misfit", default_misfit(chosen))
    settings = Settings(delta=delta, noise=noise, baseline=baseline, **asked)
    if baseline is not None:
        problem.arm_named(baseline)
    run = chosen.start(problem, settings)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    return run.result


class TableSimulator:
    """Rewards with a given mean for each pair, drawn as the sums of a whole phase: 10⁹ pulls cost
    as much as 10.

    Args:
        means: (n_pairs,) mean rewards.
        noise: standard deviation, one number or one per pair. All families but "bernoulli" are
            sub-Gaussian with this scale.
        seed: anything that numpy.random.default_rng takes.
        family: "gaussian", "rademacher" and "bernoulli" (rewards of 0 and 1, with the means as
            probabilities) are exact; "uniform" is by the central limit theorem above 10 000
            pulls of a pair.
        correlation: of rewards that share a stream, between −1 and 1: one number, or for each pair
            the part c of its noise that is common to all, so that pairs have correlation c c'.
            Gaussian noise only.
    """

    def __init__(
        self,
        means: ArrayLike,
        noise: ArrayLike = 1.0,
        seed: int | np.random.SeedSequence | None = None,
        family: Family = "gaussian",
        correlation: ArrayLike = 0.0,
    ) -> None:
        if isinstance(means, RobustProblem):
            raise InputError(
                "means is a problem: give the mean reward of each of its pairs, in its order; "
                "LinearSimulator takes a problem and θ"
            )
        self.means = np.asarray(means, dtype=np.float64)
        self.scales = Gaussian(noise).scales(len(self.means))
        self.family: Family = family
        self.common = _common_parts(correlation, len(self.means))
        if family not in FAMILIES:
            raise InputError(
                f"family={family!r} is not known: choose {', '.join(map(repr, FAMILIES))}"
            )
        if self.common.any() and family != "gaussian":
            raise InputError('only family="gaussian" can be correlated: leave correlation at 0')
        if family == "bernoulli" and not (0 <= self.means.min() <= self.means.max() <= 1):
            raise InputError(
                f"means from {self.means.min():g} to {self.means.max():g} are no probabilities: "
                'for family="bernoulli" all must lie between 0 and 1'
            )
        self._generator = np.random.default_rng(seed)

    def pull(self, phase: Phase) -> Outcome:
        """Draw a phase, with the sums of its batches if it has any."""
        pulled = np.flatnonzero(phase.counts)
        parts = _parts(phase.counts[pulled], phase.batches)
        if phase.shared and self.common.any():
            sums, squares = self._draw(pulled, parts, np.sqrt(1 - self.common[pulled] ** 2))
            sums += self._shared(pulled, parts)
        else:
            sums, squares = self._draw(pulled, parts)
        totals = sums.sum(axis=0)
        if phase.batches:
            squares += _between(parts, sums, totals / phase.counts[pulled])
        return Outcome(
            phase.index,
            phase.counts,
            _spread(totals, pulled, phase.counts),
            _spread(squares, pulled, phase.counts),
            _spread(sums[: phase.batches], pulled, phase.counts),
        )

    def _draw(
        self, pulled: IntArray, parts: IntArray, own: Array | float = 1.0
    ) -> tuple[Array, Array]:
        """Return (n_parts, n_pulled) sums of each part, and (n_pulled,) the squares within the
        parts.

        Args:
            own: (n_pulled,) the part of the noise that a pull shares with no other.
        """
        means = self.means[pulled]
        if self.family == "bernoulli":
            successes = self._generator.binomial(parts, means).astype(np.float64)
            within = successes - successes**2 / np.maximum(parts, 1)
            return successes, within.sum(axis=0)
        sums, within = NOISES[self.family](self._generator, parts)
        scales = self.scales[pulled]
        return parts * means + scales * own * sums, scales**2 * within

    def _shared(self, pulled: IntArray, parts: IntArray) -> Array:
        """Return (n_parts, n_pulled) the noise of shared streams, equal for equal streams.

        A part with fewer pulls uses the first of the streams that a larger one uses.
        """
        sizes = np.unique(parts)
        steps = np.sqrt(np.diff(sizes, prepend=0))
        walks = np.cumsum(steps * self._generator.standard_normal((len(parts), len(sizes))), axis=1)
        reached = np.take_along_axis(walks, np.searchsorted(sizes, parts), axis=1)
        return np.asarray(self.scales[pulled] * self.common[pulled] * reached)


class LinearSimulator(TableSimulator):
    """Rewards zᵀθ + noise: a `TableSimulator` whose means follow the linear model.

    Args:
        problem: whose pairs are pulled.
        theta: for the features, or for the problem's reduced basis.
        noise, seed: as for a `TableSimulator`.
        shape: `family` and `correlation`, as for a `TableSimulator`.
    """

    def __init__(
        self,
        problem: RobustProblem,
        theta: ArrayLike,
        noise: ArrayLike = 1.0,
        seed: int | np.random.SeedSequence | None = None,
        **shape: Unpack[_Shape],
    ) -> None:
        super().__init__(problem.pair_means(theta), noise, seed, **shape)


class SeveralOutputs:
    """A simulation of several outputs: the objective, and others of the same pulls by name.

    Args:
        objective: gives the rewards to be maximised.
        others: by the names of outputs, each as it is measured; independent of the objective.
    """

    def __init__(self, objective: Simulator, others: Mapping[str, Simulator]) -> None:
        self.objective, self.others = objective, dict(others)

    def pull(self, phase: Phase) -> Outcome:
        """Draw all outputs of a phase."""
        drawn = {name: simulator.pull(phase) for name, simulator in self.others.items()}
        return replace(self.objective.pull(phase), others=drawn)


def _common_parts(correlation: ArrayLike, n_pairs: int) -> Array:
    """Return (n_pairs,) the part of each pair's noise that is common to all."""
    given = np.asarray(correlation, dtype=np.float64)
    if given.ndim == 0 and given < 0:
        raise InputError(
            f"correlation={correlation!r} cannot hold between all pairs: give one number for each "
            "pair, some of them negative"
        )
    parts = np.full(n_pairs, np.sqrt(given)) if given.ndim == 0 else given
    if parts.shape != (n_pairs,) or not (np.abs(parts) <= 1).all():
        raise InputError(
            f"correlation={correlation!r:.80} must be a number from 0 to 1, or one from −1 to 1 "
            f"for each of the {n_pairs} pairs"
        )
    return parts


def _parts(counts: Counts, n_batches: int) -> IntArray:
    """Return (n_batches + 1, n_pulled) pulls in each batch and, last, those outside batches."""
    if not n_batches:
        return counts[None, :]
    size = counts // n_batches
    return np.vstack([np.tile(size, (n_batches, 1)), counts - n_batches * size])


def _between(parts: IntArray, sums: Array, centre: Array) -> Array:
    """Return (n_pulled,) squares of the parts' means about the pairs' own."""
    return np.asarray((parts * (sums / np.maximum(parts, 1) - centre) ** 2).sum(axis=0))


def _spread(values: Array, pulled: IntArray, counts: Counts) -> Array:
    """Return the values in their pairs' places, zeros elsewhere."""
    out = np.zeros((*values.shape[:-1], len(counts)))
    out[..., pulled] = values
    return out


def _gaussian(generator: np.random.Generator, counts: IntArray) -> tuple[Array, Array]:
    """Sums and scatters of standard normal draws are independent: N(0, n), and χ² of n − 1."""
    sums = np.sqrt(counts) * generator.standard_normal(counts.shape)
    freedom = np.maximum(counts - 1, 0).sum(axis=0)
    squares = 2 * generator.standard_gamma(np.maximum(freedom, 1) / 2)
    return sums, np.where(freedom > 0, squares, 0.0)


def _rademacher(generator: np.random.Generator, counts: IntArray) -> tuple[Array, Array]:
    """±1 with equal chance: the sum is binomial, every square is 1."""
    sums = (2 * generator.binomial(counts, 0.5) - counts).astype(np.float64)
    return sums, (counts - sums**2 / np.maximum(counts, 1)).sum(axis=0)


def _uniform(generator: np.random.Generator, counts: IntArray) -> tuple[Array, Array]:
    """Uniform on ±√3 (variance 1), one by one while that is cheap, normal sums beyond."""
    sums, squares = np.zeros(counts.shape), np.zeros(counts.shape)
    for place in np.ndindex(counts.shape):
        n = counts[place]
        if n <= LARGE:
            draws = generator.uniform(-np.sqrt(3), np.sqrt(3), n)
            sums[place], squares[place] = draws.sum(), (draws**2).sum()
        else:  # E u² = 1, Var u² = 9/5 − 1, and u, u² are uncorrelated
            sums[place] = np.sqrt(n) * generator.standard_normal()
            squares[place] = n + np.sqrt(0.8 * n) * generator.standard_normal()
    return sums, np.maximum(squares - sums**2 / np.maximum(counts, 1), 0.0).sum(axis=0)


NOISES: dict[str, Callable[[np.random.Generator, IntArray], tuple[Array, Array]]] = {
    "gaussian": _gaussian,
    "uniform": _uniform,
    "rademacher": _rademacher,
}
FAMILIES = (*NOISES, "bernoulli")
