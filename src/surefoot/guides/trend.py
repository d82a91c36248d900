"""A trend in the problem's features, and each pair's own deviation from it: the default guide.

Linear where the data are linear, pair by pair where they are not: how far pairs stray from the
trend is estimated, as a variance component, from the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from surefoot.arrays import Array, IntArray
from surefoot.guides.base import Guess, Guide, Seen
from surefoot.problem.problem import RobustProblem

STRAYS = np.concatenate([[0.0], np.geomspace(1e-4, 4.0, 24)])  # tried, in variances of the means
VAGUE = 100.0  # prior variance of the trend, in mean squares of the means seen
BEYOND = 3  # pairs for each dimension that a first guess needs
LEAST_ERROR = 1e-9  # error of a mean, in variances of the means: below it all digits are exact


class Trend(Guide):
    """Mixed model: mean = features · β + deviation of the pair, fitted by marginal likelihood."""

    name = "trend"

    def guess(self, seen: Seen) -> Guess:
        features, pulled = _with_level(seen.problem.pairs), seen.pulled
        centre = float(seen.means[pulled].mean())
        means = seen.means[pulled] - centre
        variance = float(means.var())
        errors = np.maximum(seen.errors, LEAST_ERROR * variance)
        errors = np.where(errors > 0, errors, 1.0)  # all rewards were equal
        data = _Data.of(features[pulled], means, errors)
        fits = [_fit(data, share * variance) for share in STRAYS]
        best = max(fits, key=lambda fit: fit.likelihood)
        return _posterior(best, data, features, pulled, centre)

    def first_pairs(self, problem: RobustProblem) -> IntArray:
        """Pairs spread evenly over the list, a few for each dimension."""
        wanted = min(BEYOND * problem.dimension + problem.n_arms // 8, problem.n_pairs)
        return np.unique(np.linspace(0, problem.n_pairs - 1, wanted).round().astype(np.int64))


def _with_level(features: Array) -> Array:
    """Return the features and a constant of their size, so that any centre leaves means linear."""
    level = float(np.sqrt((features**2).mean())) or 1.0
    return np.column_stack([features, np.full(len(features), level)])


class _Data(NamedTuple):
    """The statistics of the pulled pairs, and the prior variance of the trend."""

    rows: Array
    means: Array
    squares: Array
    errors: Array
    vague: float

    @classmethod
    def of(cls, rows: Array, means: Array, errors: Array) -> _Data:
        size, squares = float((rows**2).mean()) or 1.0, means**2
        return cls(rows, means, squares, errors, VAGUE * (float(squares.mean()) or 1.0) / size)


class _Fit(NamedTuple):
    stray: float
    trend: Array
    root: Array
    likelihood: float


def _fit(data: _Data, stray: float) -> _Fit:
    """Return the trend, given the variance of the pairs' own deviations from it.

    LAPACK is called directly: a run asks for this 25 times a phase.
    """
    weights = 1 / (stray + data.errors)
    precision = (data.rows.T * weights) @ data.rows
    precision.flat[:: len(precision) + 1] += 1 / data.vague
    root = np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
    right = data.rows.T @ (weights * data.means)
    trend, _ = linalg.lapack.dpotrs(root, right, lower=1)
    quadratic = float((weights * data.squares).sum() - right @ trend)
    determinant = 2 * float(np.log(root.diagonal()).sum()) + len(trend) * np.log(data.vague)
    return _Fit(stray, trend, root, -0.5 * (quadratic - float(np.log(weights).sum()) + determinant))


def _posterior(fit: _Fit, data: _Data, features: Array, pulled: IntArray, centre: float) -> Guess:
    kept = np.zeros(len(features))
    kept[pulled] = fit.stray / (fit.stray + data.errors)
    means = features @ fit.trend
    surprise = np.zeros(len(features))
    surprise[pulled] = data.means - means[pulled]
    reach = linalg.solve_triangular(fit.root, features.T, lower=True)
    unsure = np.einsum("ij,ij->j", reach, reach)
    spread = np.sqrt(fit.stray * (1 - kept) + (1 - kept) ** 2 * unsure)
    return Guess(centre + means + kept * surprise, spread)
