"""Phases, their outcomes as sufficient statistics, least squares, and tests of the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.linalg import lapack

from surefoot.arrays import Array as Array  # also importable from here
from surefoot.arrays import IntArray
from surefoot.errors import InputError

Counts = IntArray
SILENT = 20  # so many replicates without any scatter are no chance, even of a coin
# directions that a design measures this much less than its best one are taken as unmeasured
RANK_TOLERANCE = 1e-10
ROUNDING = 1e-12  # relative size of what rounding leaves in a fit without noise


@dataclass(frozen=True, eq=False)
class Phase:
    """How often to pull each pair before looking at any of the rewards.

    Attributes:
        index: 0 for the first phase of a run.
        counts: (n_pairs,) pulls of each pair.
        batches: into how many batches the pulls of each pair are put, in the order of their
            numbers: counts // batches of them into each, the others into none. 0: it has none.
        shared: whether the k-th pulls of all pairs use one random stream (common random numbers).
    """

    index: int
    counts: Counts
    batches: int = 0
    shared: bool = False

    @property
    def samples(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that a phase's rewards say about the means and the noise, per pair.

    The scatter is kept about each pair's own mean, not about zero: rewards of size 1e9 keep their
    digits.

    Attributes:
        phase: the index of the phase.
        counts: (n_pairs,) rewards seen.
        sums: (n_pairs,) their sums.
        scatter: (n_pairs,) sums of squared deviations from the pair's mean in this phase.
        batch_sums: (n_batches, n_pairs) the sums of each batch; no rows where it has none.
    """

    phase: int
    counts: Counts
    sums: Array
    scatter: Array
    batch_sums: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def from_rewards(
        cls, phase: Phase | int, n_pairs: int, pairs: ArrayLike, rewards: ArrayLike
    ) -> Outcome:
        """Accumulate single rewards, in the order given (floating-point sums depend on it).

        Args:
            phase: the phase itself, so that pulls are put into its batches in the order given; or
                only its index, for noise models that need no batches.
            n_pairs: how many pairs the problem has.
            pairs: (n,) which pair each pull was of.
            rewards: (n,) what came of it.
        """
        pair = np.asarray(pairs, dtype=np.int64)
        reward = np.asarray(rewards, dtype=np.float64)
        if pair.ndim != 1 or pair.shape != reward.shape:
            raise InputError(
                f"{reward.size} rewards were given for {pair.size} pairs: "
                "give one reward for each pull"
            )
        if pair.size and not 0 <= pair.min() <= pair.max() < n_pairs:
            raise InputError(
                f"pairs {pair.min()} to {pair.max()} were pulled, but they are numbered "
                f"0 to {n_pairs - 1}"
            )
        index, n_batches = (phase.index, phase.batches) if isinstance(phase, Phase) else (phase, 0)
        counts = np.bincount(pair, minlength=n_pairs)
        sums: Array = np.asarray(
            np.bincount(pair, weights=reward, minlength=n_pairs), dtype=np.float64
        )
        means = sums / np.maximum(counts, 1)
        scatter = np.bincount(pair, weights=(reward - means[pair]) ** 2, minlength=n_pairs)
        return cls(
            index,
            counts.astype(np.int64),
            sums,
            scatter.astype(np.float64),
            _batch_sums(pair, reward, counts, n_batches),
        )


def _batch_sums(pair: IntArray, reward: Array, counts: Counts, n_batches: int) -> Array:
    """(n_batches, n_pairs) the k-th pull of a pair is in batch k // size, while there are any."""
    n_pairs = len(counts)
    if not n_batches:
        return np.zeros((0, n_pairs))
    batch, _ = places_in_batches(pair, counts, n_batches)
    inside = batch >= 0
    places = batch[inside] * n_pairs + pair[inside]
    sums = np.bincount(places, weights=reward[inside], minlength=n_batches * n_pairs)
    return np.asarray(sums, dtype=np.float64).reshape(n_batches, n_pairs)


def places_in_batches(pairs: IntArray, counts: Counts, n_batches: int) -> tuple[IntArray, IntArray]:
    """(n_pulls,) the batch of each pull, and its place within that batch; −1 for those in none.

    Args:
        pairs: (n_pulls,) the pair of each pull, in the order of their numbers.
        counts: (n_pairs,) pulls of each pair.
        n_batches: 1 or more.
    """
    order = np.argsort(pairs, kind="stable")
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turn = np.empty(len(pairs), dtype=np.int64)
    turn[order] = np.arange(len(pairs)) - begins[pairs[order]]
    size = np.maximum(counts // n_batches, 1)[pairs]
    batch, place = turn // size, turn % size
    outside = (batch >= n_batches) | (counts[pairs] < n_batches)
    batch[outside], place[outside] = -1, -1
    return batch, place


def information(rows: Array, counts: Array | Counts) -> Array:
    """(d, d) Σ counts_z z zᵀ over the pairs that were pulled."""
    pulled = np.flatnonzero(counts)
    used = rows[pulled]
    return np.asarray((used.T * counts[pulled]) @ used)


def least_squares(rows: Array, counts: Counts, sums: Array, scales: Array) -> Array:
    """(d,) the estimate of least norm: the usual one where the pulled rows span, a guess elsewhere.

    Args:
        rows: (n_pairs, d) pairs divided by their scales.
        counts, sums: (n_pairs,) pulls and summed rewards.
        scales: (n_pairs,) noise scales, by which the sums are divided too.
    """
    solution, _ = _solve(*_weighted(rows, counts, sums, scales, np.flatnonzero(counts)))
    return solution


def _weighted(
    rows: Array, counts: Counts, sums: Array, scales: Array, pulled: IntArray
) -> tuple[Array, Array]:
    """Rows and means of the pulled pairs, each times √count: their noise has one size."""
    root = np.sqrt(counts[pulled])
    return rows[pulled] * root[:, None], sums[pulled] / (root * scales[pulled])


def _solve(design: Array, target: Array) -> tuple[Array, int]:
    """Least squares and the rank, with columns of one size: units of features do not matter.

    LAPACK's complete orthogonal factorisation, called directly: a run asks for this twice a phase.
    """
    n, dimension = design.shape
    if n == 0:
        return np.zeros(dimension), 0
    sizes = np.sqrt((design * design).sum(axis=0))
    sizes[sizes == 0] = 1.0
    padded = np.zeros((max(n, dimension), 1))
    padded[:n, 0] = target
    free, workspace = (
        np.zeros(dimension, dtype=np.int32),
        2 * min(n, dimension) + 35 * (dimension + 1),
    )
    _, solution, _, rank, _ = lapack.dgelsy(
        design / sizes, padded, free, RANK_TOLERANCE, workspace, overwrite_b=True
    )
    return np.asarray(solution[:dimension, 0] / sizes), int(rank)


@dataclass(frozen=True)
class FitTest:
    """Lack of fit of one phase: how far the pairs' means are from the linear fit.

    Attributes:
        against_replicates: p-value, uniform if the model holds; None where replicates or extra
            pairs are too few.
        samples: rewards in the phase, its weight among the phases.
        against_scale: p-value, at least uniform if model and scale hold; None where the scale is
            not known either.
        squares: residual sum of squares about the fit, relative to the scales.
        freedom: its degrees of freedom.
    """

    against_replicates: float | None
    samples: int
    against_scale: float | None = None
    squares: float = 0.0
    freedom: int = 0


def lack_of_fit(
    rows: Array, scales: Array, outcome: Outcome, scales_known: bool = False
) -> FitTest:
    """Exact F test of the linear model in one phase (Gaussian noise, scales up to a factor).

    The pairs' means deviate from the fit with k − rank degrees of freedom; the replicates give the
    noise with N − k. Both are independent of the estimate of θ and, as a ratio, of the total
    residual; so the test stays exact however the algorithm used those to decide when to stop.

    If Gaussian scales are known, the misfit itself is at most χ² and independent of the estimate
    too: phases with hardly any replicates can then refute the model.
    """
    pulled = np.flatnonzero(outcome.counts)
    samples = int(outcome.counts.sum())
    design, target = _weighted(rows, outcome.counts, outcome.sums, scales, pulled)
    solution, rank = _solve(design, target)
    fit_freedom, pure_freedom = len(pulled) - rank, samples - len(pulled)
    residual = target - design @ solution
    misfit = float(residual @ residual)
    pure = float((outcome.scatter / scales**2).sum())
    against_replicates = against_scale = None
    if fit_freedom > 0:
        against_replicates = _against_replicates(
            misfit, fit_freedom, pure, pure_freedom, float(target @ target)
        )
        against_scale = float(special.chdtrc(fit_freedom, misfit)) if scales_known else None
    return FitTest(against_replicates, samples, against_scale, misfit + pure, samples - rank)


def _against_replicates(
    misfit: float, fit_freedom: int, pure: float, pure_freedom: int, size: float
) -> float | None:
    """p-value of the F test; None where replicates are missing or rounding is all that is left."""
    rounding = ROUNDING**2 * size
    if pure_freedom <= 0 or max(pure, misfit) <= rounding:
        return None
    if pure <= rounding:  # a simulator without noise: whatever does not fit is certain
        return 0.0 if pure_freedom >= SILENT else None
    ratio = (misfit / fit_freedom) / (pure / pure_freedom)
    return float(special.fdtrc(fit_freedom, pure_freedom, ratio))


def combine(tests: list[FitTest]) -> float | None:
    """One p-value from all phases; twice the smaller where replicates and scales both speak."""
    kinds = (
        [(t.against_replicates, t.samples) for t in tests],
        [(t.against_scale, t.samples) for t in tests],
    )
    p_values = [p for p in map(_inverse_normal, kinds) if p is not None]
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def _inverse_normal(tests: list[tuple[float | None, int]]) -> float | None:
    """Independent p-values as normal scores, each weighted by its samples."""
    usable = [(p, samples) for p, samples in tests if p is not None]
    if not usable:
        return None
    weights = np.sqrt([samples for _, samples in usable])
    scores = -special.ndtri(np.clip([p for p, _ in usable], 1e-300, 1 - 1e-16))
    return float(special.ndtr(-(weights @ scores) / np.linalg.norm(weights)))


def equal_variances(freedom: Array, scatter: Array) -> float | None:
    """Bartlett's test that all pairs are equally noisy; None where too few pairs were replicated.

    Args:
        freedom: (n_pairs,) degrees of freedom of the scatter: rewards less one for each phase.
        scatter: (n_pairs,) squared deviations, divided by the assumed scales squared.
    """
    enough = (freedom >= 5) & (scatter > 0)
    if enough.sum() < 2:
        return None
    f, variances = freedom[enough], scatter[enough] / freedom[enough]
    total = f.sum()
    spread = total * np.log((f @ variances) / total) - f @ np.log(variances)
    correction = 1 + ((1 / f).sum() - 1 / total) / (3 * (len(f) - 1))
    return float(special.chdtrc(len(f) - 1, max(spread / correction, 0.0)))


def stated_variances(freedom: Array, scatter: Array) -> float | None:
    """p-value of "no pair is noisier than stated", for normal noise; None without replicates.

    The scatter of all pairs together and of each pair by itself is held against χ², the smallest
    p-value counted as often as there are tests.

    Args:
        freedom: (n_pairs,) degrees of freedom of the scatter.
        scatter: (n_pairs,) squared deviations, divided by the stated scales squared.
    """
    used = freedom > 0
    if not used.any():
        return None
    single = special.chdtrc(freedom[used], scatter[used]).min() * used.sum()
    return float(min(1.0, 2 * min(single, special.chdtrc(freedom.sum(), scatter.sum()))))
