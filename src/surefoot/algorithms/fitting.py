"""Least squares, and tests of the model and of the noise that were assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.linalg import lapack

from surefoot.arrays import Array, IntArray
from surefoot.statistics import Counts, Outcome

SILENT = 20  # this many replicates without any scatter are no chance, even of a coin
# directions that a design measures this much less than its best one are taken as unmeasured
RANK_TOLERANCE = 1e-10
ROUNDING = 1e-12  # relative size of what rounding leaves in a fit without noise


def information(rows: Array, counts: Array | Counts) -> Array:
    """(d, d) Σ counts_z z zᵀ over the pairs that were pulled."""
    pulled = np.flatnonzero(counts)
    used = rows[pulled]
    return np.asarray((used.T * counts[pulled]) @ used)


def least_squares(rows: Array, counts: Array | Counts, sums: Array, scales: Array) -> Array:
    """(d,) the estimate of least norm: the usual one where the pulled rows span, a guess elsewhere.

    Args:
        rows: (n_pairs, d) pairs divided by their scales.
        counts, sums: (n_pairs,) pulls and summed rewards.
        scales: (n_pairs,) noise scales, by which the sums are divided too.
    """
    solution, _ = _solve(*_weighted(rows, counts, sums, scales, np.flatnonzero(counts)))
    return solution


def _weighted(
    rows: Array, counts: Array | Counts, sums: Array, scales: Array, pulled: IntArray
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
    rows: Array, scales: Array, outcome: Outcome, scales_known: bool = False, misfit: float = 0.0
) -> FitTest:
    """Exact F test of the linear model in one phase (Gaussian noise, scales up to a factor).

    The pairs' means deviate from the fit with k − rank degrees of freedom; the replicates give the
    noise with N − k. Both are independent of the estimate of θ and, as a ratio, of the total
    residual; so the test stays exact however the algorithm used those to decide when to stop.

    If Gaussian scales are known, the misfit itself is at most χ² and independent of the estimate
    too: phases with hardly any replicates can then refute the model.

    Means that may be `misfit` from the model add at most `misfit` ‖√n / scale‖ to the length of the
    residual. Only what is beyond that counts, and the p-value is no smaller than it is.
    """
    pulled = np.flatnonzero(outcome.counts)
    samples = int(outcome.counts.sum())
    design, target = _weighted(rows, outcome.counts, outcome.sums, scales, pulled)
    solution, rank = _solve(design, target)
    fit_freedom, pure_freedom = len(pulled) - rank, samples - len(pulled)
    residual = target - design @ solution
    squares, pure = float(residual @ residual), float((outcome.scatter / scales**2).sum())
    beyond = squares
    if misfit > 0:
        stated = misfit * float(np.sqrt((outcome.counts / scales**2).sum()))
        beyond = max(float(np.sqrt(squares)) - stated, 0.0) ** 2
    against_replicates = against_scale = None
    if fit_freedom > 0:
        against_replicates = _against_replicates(
            beyond, fit_freedom, pure, pure_freedom, float(target @ target)
        )
        against_scale = float(special.chdtrc(fit_freedom, beyond)) if scales_known else None
    return FitTest(against_replicates, samples, against_scale, squares + pure, samples - rank)


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
