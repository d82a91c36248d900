"""What one phase says: contrasts fixed before it, and a score for each that pays for its bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.algorithms.prime.course import BatchValues
from surefoot.algorithms.prime.misfit.clearest import View
from surefoot.algorithms.prime.misfit.contrasts import Choices, Contrasts, to_be_pulled
from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array, IntArray
from surefoot.evidence.batches import spread_means
from surefoot.evidence.student import LOWEST, normal_scores, student_scores
from surefoot.statistics import Counts, Outcome

Scores = tuple[Array, Array | None]


@dataclass(frozen=True, eq=False)
class BiasedChallenge:
    """A challenger's contrasts with some arms in one phase, fixed before its rewards are seen.

    Attributes:
        challenger: the arm whose pairs z' should beat each arm's rival point.
        arms: (n_arms_tested,) the arms under test.
        contrasts: one for each (z', arm).
        expected: (n_own, n_arms_tested) their values where every reward is as `View.fit` says.
    """

    challenger: int
    arms: IntArray
    contrasts: Contrasts
    expected: Array

    @property
    def places(self) -> IntArray:
        """(n_own,) which of the challenger's pairs these are: all."""
        return np.arange(len(self.expected))

    @property
    def columns(self) -> IntArray:
        """(n_arms_tested,) what contrasts are told apart by: the arms."""
        return self.arms


class BiasedTests:
    """The challenges of a phase with these (n_pairs,) pulls, set up before they are made."""

    def __init__(self, view: View, fit: Array, counts: Counts) -> None:
        """Take the (n_pairs,) means of a linear fit: what rewards add to it keeps its digits."""
        self.pulled, self.fit = np.flatnonzero(counts), fit
        self.offsets, self.noise = view.offsets, view.noise[self.pulled]
        self.choices = Choices(view, to_be_pulled(view, self.pulled, counts[self.pulled]))
        self.challenges: list[BiasedChallenge] = []

    def add(self, challenger: int, arms: IntArray) -> None:
        """Choose, for each z' of the challenger and each arm, the clearest contrast."""
        contrasts = self.choices.against(challenger, arms)
        own = self.fit[self.offsets[challenger] : self.offsets[challenger + 1]]
        rivals = np.add.reduceat(contrasts.shares * self.fit, self.offsets[:-1], axis=1)[:, arms]
        usable = contrasts.weights.any(axis=2)
        expected = np.where(usable, own[:, None] - rivals, 0.0)
        self.challenges.append(BiasedChallenge(challenger, arms, contrasts, expected))

    def statistics(self, outcome: Outcome, settings: Settings) -> list[Scores]:
        """For each challenge T, and T eased by the tolerance: (n_own, n_arms_tested)."""
        score = SCORES.get(settings.noise.evidence, _by_scales)
        return [score(self, outcome, challenge, settings) for challenge in self.challenges]

    def surprise(self, outcome: Outcome) -> Array:
        """(n_pulled,) what the means of the phase add to the fit."""
        return np.asarray(outcome.sums[self.pulled] / outcome.counts[self.pulled]) - self._base

    def contrasts(self, outcome: Outcome) -> list[BatchValues]:
        """For each challenge one value per batch."""
        alike = len(outcome.batch_sums) / outcome.counts[self.pulled] / 2
        results = []
        for challenge in self.challenges:
            squares, values = challenge.contrasts.weights**2, self.batch_values(outcome, challenge)
            results.append(BatchValues.of(values, squares @ alike, squares @ (alike * self.noise)))
        return results

    def batch_values(self, outcome: Outcome, challenge: BiasedChallenge) -> Array:
        """(n_batches, n_own, n_tested) contrasts less their bias."""
        surprises = spread_means(outcome, self.pulled) - self._base
        gained = np.einsum("kac,bc->bka", challenge.contrasts.weights, surprises)
        return np.asarray(gained + (challenge.expected - challenge.contrasts.bias))

    @property
    def _base(self) -> Array:
        return self.fit[self.pulled]


def _by_scales(
    tests: BiasedTests, outcome: Outcome, challenge: BiasedChallenge, settings: Settings
) -> Scores:
    """The scales are known: contrasts in standard deviations."""
    scales = settings.noise.scales(len(outcome.counts))[tests.pulled]
    return _eased(*_estimates(tests, outcome, challenge, scales**2), settings.tolerance)


def _by_pure_error(
    tests: BiasedTests, outcome: Outcome, challenge: BiasedChallenge, settings: Settings
) -> Scores:
    """One unknown scale, from replicates alone: residuals of a fit would contain the misfit."""
    freedom = int(np.maximum(outcome.counts - 1, 0).sum())
    scatter = float(outcome.scatter.sum())
    if not freedom or not scatter:
        return _without_noise(tests, outcome, challenge, settings.tolerance)
    variances = np.full(len(tests.pulled), scatter / freedom)
    plain, eased = _eased(*_estimates(tests, outcome, challenge, variances), settings.tolerance)
    return normal_scores(plain, freedom), None if eased is None else normal_scores(eased, freedom)


def _by_batches(
    tests: BiasedTests, outcome: Outcome, challenge: BiasedChallenge, settings: Settings
) -> Scores:
    """Scales that may differ from pair to pair: one value per batch."""
    values = tests.batch_values(outcome, challenge)
    plain = student_scores(values, 0.0)
    eased = student_scores(values, settings.tolerance) if settings.tolerance > 0 else None
    return plain, eased


SCORES = {"residual": _by_pure_error, "batches": _by_batches}


def _estimates(
    tests: BiasedTests, outcome: Outcome, challenge: BiasedChallenge, variances: Array
) -> tuple[Array, Array]:
    """(n_own, n_tested) contrasts less their bias, and their standard deviations."""
    contrasts = challenge.contrasts
    values = contrasts.weights @ tests.surprise(outcome) + challenge.expected - contrasts.bias
    errors = np.sqrt(contrasts.weights**2 @ (variances / outcome.counts[tests.pulled]))
    return values, errors


def _eased(values: Array, errors: Array, tolerance: float) -> Scores:
    """In deviations; nothing where nothing is measured."""
    measured = np.where(errors > 0, errors, math.inf)
    return values / measured, (values + tolerance) / measured if tolerance > 0 else None


def _without_noise(
    tests: BiasedTests, outcome: Outcome, challenge: BiasedChallenge, tolerance: float
) -> Scores:
    """Replicates that are all alike, or none: evidence against a challenger, never for one."""
    values, _ = _estimates(tests, outcome, challenge, np.zeros(len(tests.pulled)))
    below = np.where(values < 0, LOWEST, 0.0)
    return below, np.where(values + tolerance < 0, LOWEST, 0.0) if tolerance > 0 else None
