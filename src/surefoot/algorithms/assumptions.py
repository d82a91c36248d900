"""Tests of a certificate's assumptions: the model, and the noise as stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from surefoot.algorithms.fitting import (
    MODELLED,
    ROUNDING,
    inverse_of,
    of_one_size,
    solved,
    weighted,
)
from surefoot.arrays import Array, IntArray
from surefoot.certify.score import spread_means
from surefoot.statistics import Counts, Outcome

SILENT = 20  # replicates without any scatter that are no chance, even of a coin
LEAST_STRAY = 0.05  # lower bound of the prior variance of strays, as a share of the error variance
ONE_SIDED = 2.0  # standard errors from which the past is trusted with the sign of a stray


@dataclass(frozen=True)
class FitTest:
    """Lack of fit of one phase: how far the pairs' means are from the linear fit.

    Attributes:
        against_replicates: p-value, uniform if the model holds; None where replicates or extra
            pairs are too few.
        samples: rewards in the phase, its weight among the phases.
        against_scale: p-value, at least uniform if model and scale hold; None where the scale is
            unknown.
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
    design, target = weighted(rows, outcome.counts, outcome.sums, scales, pulled)
    solution, rank = solved(design, target)
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
    """Return the p-value of the F test; None without replicates, or if only rounding is left."""
    rounding = ROUNDING**2 * size
    if pure_freedom <= 0 or max(pure, misfit) <= rounding:
        return None
    if pure <= rounding:  # a simulator without noise: any misfit is certain
        return 0.0 if pure_freedom >= SILENT else None
    ratio = (misfit / fit_freedom) / (pure / pure_freedom)
    return float(special.fdtrc(fit_freedom, pure_freedom, ratio))


def combine(tests: list[FitTest]) -> float | None:
    """Return one p-value from all phases; twice the smaller where replicates and scales both
    speak.
    """
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
    """Return the p-value of "no pair is noisier than stated" for normal noise; None without
    replicates.

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


class Strayed(NamedTuple):
    """The deviations of past means from the model.

    Attributes:
        fitted: (n_pairs,) means that the model fits to the past.
        likely: (n_pairs,) how far each pair seems to be off it, drawn towards zero; zero if new.
        errors: (n_pairs,) variances of the past means; of a single pull for pairs not pulled yet.
        variances: (n_pairs,) of single pulls, estimated from the past.
    """

    fitted: Array
    likely: Array
    errors: Array
    variances: Array


def past_strays(rows: Array, counts: Counts, sums: Array, variances: Array) -> Strayed:
    """Return the deviations of past means from a fit to all pulls.

    Args:
        rows: (n_pairs, dimension) features.
        counts, sums: (n_pairs,) pulls before the phase, and their summed rewards.
        variances: (n_pairs,) of single pulls, estimated from the past.
    """
    rows = of_one_size(rows)
    seen, errors = np.flatnonzero(counts), variances / np.maximum(counts, 1)
    means, root = sums[seen] / counts[seen], 1 / np.sqrt(errors[seen])
    solution, *_ = np.linalg.lstsq(rows[seen] * root[:, None], means * root, rcond=None)
    fitted = rows @ solution
    strays = means - fitted[seen]
    usual = float(errors[seen].mean())
    true = max(float((strays**2).mean()) - usual, LEAST_STRAY * usual)
    likely = np.zeros(len(rows))
    likely[seen] = strays * true / (true + errors[seen])
    return Strayed(fitted, likely, errors, variances)


def stray_test(rows: Array, past: Strayed, outcome: Outcome, misfit: float = 0.0) -> FitTest | None:
    """Test the model in one phase, along the direction in which the past strays from it most.

    Both signs count unless the past is clear about it.

    Args:
        rows: (n_pairs, dimension) features.
        past: the statistics before the phase, which choose the contrast and do not count.
        outcome: the phase, with its batches.
        misfit: how far means may be from the model; it is subtracted from the deviations.

    Returns:
        The test; None where batches, or pairs beyond the dimension, are too few.
    """
    n_batches = len(outcome.batch_sums)
    used = np.flatnonzero(outcome.counts >= max(n_batches, 2))
    if n_batches < 2 or not len(used):
        return None
    contrast = _contrast(of_one_size(rows)[used], past, used, outcome.counts[used])
    if contrast is None:
        return None
    values = (spread_means(outcome, used) - past.fitted[used]) @ contrast
    spread = float(values.std(ddof=1))
    largest = float(np.abs(outcome.sums[used] / outcome.counts[used]).max())
    if spread <= MODELLED * largest * float(np.abs(contrast).sum()):
        return None
    mean, stated = float(values.mean()), misfit * float(np.abs(contrast).sum())
    clear = float(contrast @ past.likely[used]) ** 2 > ONE_SIDED**2 * float(
        contrast**2 @ past.errors[used]
    )
    beyond = mean - stated if clear else max(abs(mean) - stated, 0.0)
    t = np.sqrt(n_batches) * beyond / spread
    p = special.stdtr(n_batches - 1, -t) if clear else 2 * special.stdtr(n_batches - 1, -abs(t))
    return FitTest(float(p), 1)  # of one weight: sizes depend on earlier phases, as tests do here


def misfit_p_value(tests: tuple[FitTest, ...]) -> float | None:
    """Return one p-value from the phases so far, valid at any stopping time.

    The first k phases together give a p-value for each k; that of k counts k (k + 1) times, and one
    over that sums to 1.
    """
    phases = range(1, len(tests) + 1)
    p_values = [combine(list(tests[:k])) for k in phases]
    spent = [k * (k + 1) * p for k, p in zip(phases, p_values, strict=True) if p is not None]
    return min(1.0, min(spent)) if spent else None


def _contrast(rows: Array, past: Strayed, used: IntArray, counts: Counts) -> Array | None:
    """Return (n_used,) weights that the model gives zero, so that past means strayed upwards along
    them; None if the model has no such direction.
    """
    noise = past.variances[used] / counts
    inverse, rank = inverse_of(rows, noise)
    if len(used) <= rank:
        return None
    direction = past.likely[used] / noise
    contrast = direction - (direction @ rows) @ inverse
    size = float(np.linalg.norm(contrast))
    if size <= MODELLED * float(np.linalg.norm(direction)):
        return None
    return np.asarray(contrast / size)
