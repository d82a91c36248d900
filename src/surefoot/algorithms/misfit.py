"""Whether the linear model holds, where noise levels are unknown and differ.

An F test would need the levels. One contrast does not: what the past says of how means stray from
the model is a direction that the model calls zero, and Student's t of batches along it is exact,
whatever the levels. It takes more pairs with batches than the model has parameters: where a phase
has none to spare, a witness joins it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from surefoot.algorithms.fitting import FitTest, combine
from surefoot.arrays import Array, IntArray
from surefoot.certify.score import spread_means
from surefoot.statistics import Counts, Outcome

MODELLED = 1e-9  # a stray below this share of the means is rounding
LEAST_STRAY = 0.05  # variance of true strays that is reckoned with, in that of past ones
ONE_SIDED = 2.0  # standard errors from which the past is trusted with the sign of a stray


class Strayed(NamedTuple):
    """The deviations of past means from the model.

    Attributes:
        fitted: (n_pairs,) what the model makes of the past.
        likely: (n_pairs,) how far each pair seems to be off it, drawn towards zero; zero if new.
        errors: (n_pairs,) variances of the past means; of a single pull where there was none.
        variances: (n_pairs,) of single pulls, as the past says.
    """

    fitted: Array
    likely: Array
    errors: Array
    variances: Array


def past_strays(rows: Array, counts: Counts, sums: Array, variances: Array) -> Strayed:
    """Fit all that was pulled, and see what is left.

    Args:
        rows: (n_pairs, dimension) features.
        counts, sums: (n_pairs,) pulls before the phase, and their summed rewards.
        variances: (n_pairs,) of single pulls, as the past says.
    """
    rows = _of_one_size(rows)
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


def witness(rows: Array, past: Strayed, used: IntArray, pulls: int) -> int | None:
    """A pair to pull beside those used, that may show best whether the model holds.

    It is predicted by the others, and that many pulls of it would show a stray as large as past
    means leave possible. None where no pair can.
    """
    rows = _of_one_size(rows)
    inverse, _ = _inverse(rows[used], past.variances[used])
    reach = rows @ inverse  # (n_pairs, n_used) each pair by those used
    missed = np.abs(rows - reach @ rows[used]).max(axis=1)
    spanned = missed <= MODELLED * np.abs(rows).max()
    spanned[used] = False
    if not spanned.any():
        return None
    noise = (past.variances + reach**2 @ past.variances[used]) / pulls
    worth = (past.likely**2 + past.errors) / noise
    return int(np.argmax(np.where(spanned, worth, -np.inf)))


def spares_one(rows: Array, used: IntArray) -> bool:
    """Return whether these pairs are more than the model needs, so that one can test it."""
    scaled = _of_one_size(rows)[used]
    return len(used) > _inverse(scaled, np.ones(len(used)))[1]


def stray_test(rows: Array, past: Strayed, outcome: Outcome, misfit: float = 0.0) -> FitTest | None:
    """Test the model in one phase, along the direction in which the past strays from it most.

    Both signs count unless the past is clear about it.

    Args:
        rows: (n_pairs, dimension) features.
        past: before the phase; it chooses, and does not count.
        outcome: the phase, with its batches.
        misfit: how far means may be from the model; it is taken off what is seen.

    Returns:
        The test; None where batches, or pairs beyond the dimension, are too few.
    """
    n_batches = len(outcome.batch_sums)
    used = np.flatnonzero(outcome.counts >= max(n_batches, 2))
    if n_batches < 2 or not len(used):
        return None
    contrast = _contrast(_of_one_size(rows)[used], past, used, outcome.counts[used])
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
    """One p-value from the phases so far, that holds whenever a run ends and for whatever reason.

    The first k phases together give a p-value for each k; that of k counts k (k + 1) times, and one
    over that sums to 1.
    """
    phases = range(1, len(tests) + 1)
    p_values = [combine(list(tests[:k])) for k in phases]
    spent = [k * (k + 1) * p for k, p in zip(phases, p_values, strict=True) if p is not None]
    return min(1.0, min(spent)) if spent else None


def _of_one_size(rows: Array) -> Array:
    """Features whose units do not matter, for ranks are told by sizes."""
    sizes = np.abs(rows).max(axis=0)
    return np.asarray(rows / np.where(sizes > 0, sizes, 1.0))


def _inverse(rows: Array, variances: Array) -> tuple[Array, int]:
    """(dimension, n) least squares as a matrix, and its rank."""
    root = 1 / np.sqrt(variances)
    left, sizes, right = np.linalg.svd(rows * root[:, None], full_matrices=False)
    rank = int((sizes > MODELLED * sizes.max(initial=0.0)).sum())
    inverse = (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
    return np.asarray(inverse * root), rank


def _contrast(rows: Array, past: Strayed, used: IntArray, counts: Counts) -> Array | None:
    """(n_used,) weights that the model gives zero, so that past means strayed upwards along them;
    None if there are none.
    """
    noise = past.variances[used] / counts
    inverse, rank = _inverse(rows, noise)
    if len(used) <= rank:
        return None
    direction = past.likely[used] / noise
    contrast = direction - (direction @ rows) @ inverse
    size = float(np.linalg.norm(contrast))
    if size <= MODELLED * float(np.linalg.norm(direction)):
        return None
    return np.asarray(contrast / size)
