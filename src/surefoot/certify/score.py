"""From contrasts to scores, one class for each kind of noise.

The score of a contrast whose mean is at most zero is at most a variable of known law given the
past: standard normal, sub-Gaussian of variance 1, or the logarithm of a wealth that is expected to
be at most 1. Where nothing is measured the score is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from surefoot.arrays import Array, IntArray, fixed
from surefoot.certify.boundary import Boundary, GaussianBoundary, MixtureBoundary, WealthBoundary
from surefoot.certify.contrast import RANK, Contrasts, Pulled, Question, Spread
from surefoot.errors import InputError
from surefoot.statistics import Outcome

ROUNDING = 1e-12  # values that differ by less than this share of their size are equal
SILENT = 1e-13  # a remainder below this share of the rewards is rounding
LARGEST = 1e150  # number whose square is finite
LEAST_TAIL = 1e-300
LOWEST = float(special.ndtri(LEAST_TAIL))  # the lowest score there is
BOLDEST = 0.8  # share of the wealth that a single batch may take, at most
SCEPTICAL = 12.0  # batches of a contrast of zero that stakes take for seen


class Scores(ABC):
    """Rules by which contrasts of a phase become scores.

    Attributes:
        least_batches: batches that a phase with claims needs. Only with batches may pulls of
            different pairs depend on each other.
        guesses: whether variances are guessed before each phase; else `scales` says them.
        bets: whether claims come with stakes.
        adds_up: whether scores of points by one deviation add up to that of their mixture.
        boundaries: the kinds that hold for walks of such scores.
        scales: (n_pairs,) of the noise: known, or known up to a factor.
    """

    least_batches: ClassVar[int] = 0
    guesses: ClassVar[bool] = False
    bets: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    boundaries: ClassVar[tuple[type[Boundary], ...]] = (GaussianBoundary, MixtureBoundary)
    loss: float | None = None

    def __init__(self, scales: Array) -> None:
        self.scales = fixed(scales)
        if not ((self.scales > 1 / LARGEST) & (self.scales < LARGEST)).all():
            raise InputError(f"scales of noise must lie between {1 / LARGEST:g} and {LARGEST:g}")

    def means(self, outcome: Outcome, pairs: IntArray, shared: bool) -> Array:
        """Return (n, n_pulled) the means that contrasts are formed of: here one, of all pulls."""
        return np.asarray(outcome.sums[pairs] / outcome.counts[pairs])[None]

    def spread(self, question: Question, pulled: Pulled, outcome: Outcome) -> Spread | None:
        """Return the phase's estimate of an unknown scale; None if no scale is unknown."""
        return None

    @abstractmethod
    def scores(self, said: Contrasts, shift: float) -> Array:
        """Return (n_own, n_tested) scores of the contrasts with `shift` added to each."""


class ScaleScores(Scores):
    """Normal noise of known scales: contrasts in standard deviations."""

    adds_up = True

    def scores(self, said: Contrasts, shift: float) -> Array:
        return _ratio(said.values[0] + shift, np.sqrt(said.variances[0]))


class SubGaussianScores(ScaleScores):
    """Sub-Gaussian noise of known scales, whose walks only a mixture bounds."""

    boundaries = (MixtureBoundary,)


class EqualScores(Scores):
    """Normal noise of scales that are known up to one factor: Student's t by the phase itself."""

    def spread(self, question: Question, pulled: Pulled, outcome: Outcome) -> Spread:
        """Sum the squares of replicates and, if the model is exact, of residuals from its fit."""
        pairs, scales = pulled.pairs, self.scales[pulled.pairs]
        counts, scatter = outcome.counts[pairs], outcome.scatter[pairs] / scales**2
        squares, freedom = float(scatter.sum()), int((counts - 1).sum())
        if question.misfit:  # residuals would contain the misfit
            return Spread(squares, freedom)
        weights, rows = np.sqrt(counts) / scales, question.basis[pairs]
        means = weights * (outcome.sums[pairs] / counts - rows @ pulled.centre)
        left, singular, _ = np.linalg.svd(rows * weights[:, None], full_matrices=False)
        left = left[:, singular > RANK * singular.max(initial=0.0)]
        residual = means - left @ (left.T @ means)
        size = float((outcome.sums[pairs] ** 2 / (counts * scales**2)).sum())
        freedom += len(pairs) - left.shape[1]
        return Spread(squares + float(residual @ residual), freedom, SILENT**2 * size + 1e-300)

    def scores(self, said: Contrasts, shift: float) -> Array:
        assert said.spread is not None
        squares, freedom, least = said.spread
        values, errors = said.values[0] + shift, np.sqrt(said.variances[0])
        # a floor may lower scores for the challenger, never raise scores against it
        seen = np.where(values > 0, max(squares, least), squares)
        sigma = np.sqrt(seen / max(freedom, 1)) * (freedom > 0)
        scores = normal_scores(_ratio(values, sigma * errors), freedom)
        return np.where((sigma == 0) & (values < 0) & (errors > 0), LOWEST, scores)


class BatchScores(Scores):
    """Normal noise of any scales, streams shared or not: Student's t over batches."""

    least_batches, guesses = 2, True

    def means(self, outcome: Outcome, pairs: IntArray, shared: bool) -> Array:
        return batch_means(outcome, pairs) if shared else spread_means(outcome, pairs)

    def scores(self, said: Contrasts, shift: float) -> Array:
        return student_scores(said.values, shift, ROUNDING * np.asarray(said.varied), said.size)


class WealthScores(Scores):
    """Rewards within a range, and nothing else: the logarithm of a gambler's wealth.

    A stake λ on a contrast D turns wealth w into w (1 + λD). If D has no positive mean, given all
    batches before, the game is not in the gambler's favour: Ville's inequality bounds the wealth.
    """

    least_batches, bets, boundaries = 1, True, (WealthBoundary,)

    def __init__(self, scales: Array, loss: float | None = None) -> None:
        """Take scales; and, where a constant alone challenges, how far a contrast may fall."""
        super().__init__(scales)
        if loss is not None and not 0 < loss <= 2 * scales.max():
            raise InputError("a bet can lose an amount above 0, within the range of the rewards")
        self.loss = loss

    def means(self, outcome: Outcome, pairs: IntArray, shared: bool) -> Array:
        return batch_means(outcome, pairs)

    def scores(self, said: Contrasts, shift: float) -> Array:
        values, stakes, number = said.values, said.stakes, np.arange(len(said.values))
        assert stakes is not None
        before = np.cumsum(values, axis=0) - values
        noise, doubt = np.maximum(stakes.variances, 1e-300), stakes.doubts**2
        mean = noise * stakes.means + doubt * before
        mean = mean / (noise + doubt * (number[:, None, None] + SCEPTICAL)) + stakes.aim
        # how far below zero a contrast can be
        loss = 2 * float(self.scales.max()) if self.loss is None else self.loss
        stake = np.clip(mean / (noise + mean**2), 0.0, BOLDEST / loss)
        gained = np.log1p(stake * (values + shift)).sum(axis=0)
        return np.where(said.variances[0] > 0, gained, 0.0)


def batch_means(outcome: Outcome, pairs: IntArray) -> Array:
    """Return (n_batches, n) the mean reward of each batch of these pairs.

    With shared streams the pairs of a batch are correlated, in whichever way; batches are
    independent of each other, and pulls outside of them do not count.
    """
    sums = outcome.batch_sums[:, pairs]
    return np.asarray(sums / (outcome.counts[pairs] // len(sums)))


def spread_means(outcome: Outcome, pairs: IntArray) -> Array:
    """Return (n_batches, n) U_ib = Ȳ_i + √(m q_i / n_i) (G_ib − Ḡ_i): Scheffé (1943), generalised.

    Ȳ_i is the mean of all n_i pulls of a pair, G_ib that of batch b with q_i of them, Ḡ_i the mean
    over its m batches. If pulls are independent, Cov(U_ib, U_ic) = (m σ_i² / n_i) 1{b = c}: the
    columns carry all pulls, and the rows are as independent as pulls are, for any σ_i.
    """
    means, counts = batch_means(outcome, pairs), outcome.counts[pairs]
    full = len(means) * (counts // len(means)) / counts
    centre = outcome.sums[pairs] / counts
    return np.asarray(centre + np.sqrt(full) * (means - means.mean(axis=0)))


def repeating(outcome: Outcome, pairs: IntArray) -> NDArray[np.bool_]:
    """Return (n,) whether batches of these pairs repeat each other, as rewards of few values do."""
    if len(outcome.batch_sums) < 2:
        return np.ones(len(pairs), dtype=np.bool_)
    sums = np.sort(outcome.batch_sums[:, pairs], axis=0)
    alike = np.diff(sums, axis=0) <= ROUNDING * np.abs(sums).max(axis=0)
    return np.asarray(alike.any(axis=0))


def student_scores(
    values: Array, shift: float, least: Array | float = 0.0, parts: Array | float = 0.0
) -> Array:
    """Return (…) Φ⁻¹(F(T)) of T = √m C̄ / s for (m, …) values, after adding `shift` to each.

    Values of one contrast are independent and normal with one variance, for any variances of its
    pairs. Where all are alike, up to rounding, T counts as the lowest there is if their mean is
    below zero, and else as nothing, since rewards on a lattice would make it infinite; unless
    rewards varied and their noise cancelled: then s is the share `least` of the values' size, or of
    that of the `parts` which were added up to values, if they are larger.
    """
    m, centre, spread = len(values), values.mean(axis=0) + shift, values.std(axis=0, ddof=1)
    size = np.abs(values).max(axis=0)
    usable = spread > np.maximum(ROUNDING * size, SILENT * parts)
    spread = np.where(usable, spread, least * np.maximum(size, parts))
    scores = normal_scores(_ratio(np.sqrt(m) * centre, spread), m - 1)
    return np.where(usable | (centre >= 0) | ~values.any(axis=0), scores, LOWEST)


def normal_scores(t: Array, freedom: Array | float) -> Array:
    """Return Φ⁻¹(F(t)), F of Student's t, by the tail that is small: large scores keep digits."""
    tail = special.stdtr(np.maximum(freedom, 1), -np.abs(t))
    return np.asarray(-np.sign(t) * special.ndtri(np.maximum(tail, LEAST_TAIL)))


def _ratio(values: Array, errors: Array) -> Array:
    """Divide; 0 where there is no error, so nothing is measured."""
    return np.divide(values, errors, out=np.zeros_like(values), where=errors > 0)
