"""Linear predictors of every pair's mean from the means of pulled pairs.

Between the linear fit and the pair's own mean: where pairs deviate from the model with variance τ²,
the best unbiased predictor is least squares with variances s + τ², and a pulled pair keeps the
share τ² / (s + τ²) of its own residual. τ = 0 is the fit itself; τ = ∞ is each pair's own mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.whitening import measured_root


class Guess(NamedTuple):
    """What data say of all pairs' means.

    Attributes:
        means: (n_pairs,).
        located: (n_pairs, rank) where squared distances, together with what both pairs have of
            `alone`, are variances of differences.
        alone: (n_pairs,) variances that each pair has for itself.
    """

    means: Array
    located: Array
    alone: Array


class Predictor(NamedTuple):
    """How the means of pulled pairs predict those of all.

    Attributes:
        weights: (n_pairs, n_pulled) Zᵀ weights = z for every pair in the span of the pulled ones.
        hidden: (n_pairs, dimension − rank) what is outside of that span; zeros for pulled pairs.
    """

    weights: Array
    hidden: Array


def predictor(pairs: Array, pulled: IntArray, variances: Array, own: float) -> Predictor:
    """The predictor in which a pair that is pulled as often as the others keeps this share.

    Args:
        pairs: (n_pairs, dimension) features.
        pulled: (n_pulled,) which pairs are.
        variances: (n_pulled,) of their means.
        own: from 0, the fit, to 1, own means alone.
    """
    if own >= 1:  # deviations without bounds: all pairs tell equally much about the others
        return _mixed(pairs, pulled, np.ones(len(pulled)), np.ones(len(pulled)))
    return deviating(pairs, pulled, variances, deviation_of(variances, own))


def deviation_of(variances: Array, own: float) -> float:
    """Return the τ² at which a pair of typical variance keeps this share of its own residual."""
    if own >= 1:
        return math.inf
    typical = len(variances) / float((1 / variances).sum())
    return typical * own / (1 - own)


def guess(
    pairs: Array, pulled: IntArray, variances: Array, averages: Array, deviation: float
) -> Guess:
    """What (n_pulled,) averages say if pairs deviate from the model with variance τ²."""
    predicted = deviating(pairs, pulled, variances, deviation)
    total, kept = variances + deviation, np.zeros(len(pairs))
    kept[pulled] = deviation / total
    root, _ = measured_root(pairs[pulled] / np.sqrt(total)[:, None])
    located = (1 - kept)[:, None] * (pairs @ root)
    return Guess(predicted.weights @ averages, located, deviation * (1 - kept))


def deviating(pairs: Array, pulled: IntArray, variances: Array, deviation: float) -> Predictor:
    """The predictor for pairs that deviate from the model with this variance τ²."""
    total = variances + deviation
    return _mixed(pairs, pulled, total, deviation / total)


def _mixed(pairs: Array, pulled: IntArray, variances: Array, kept: Array) -> Predictor:
    """Least squares with these variances; pulled pairs keep a share of their own residual."""
    root, unmeasured = measured_root(pairs[pulled] / np.sqrt(variances)[:, None])
    fitted = (pairs @ root) @ (pairs[pulled] @ root / variances[:, None]).T
    fitted[pulled] *= (1 - kept)[:, None]
    fitted[pulled, np.arange(len(pulled))] += kept
    hidden = pairs @ unmeasured
    hidden[pulled] = 0.0
    return Predictor(fitted, hidden)
