"""Planners that give the kernel what no honest planner would, and gain nothing by it."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.arrays import Array
from surefoot.certify import (
    BatchScores,
    Certifier,
    Claims,
    Question,
    Rows,
    ScaleScores,
    Stakes,
    WealthBoundary,
    WealthScores,
)
from surefoot.certify.contrast import Contrasts
from surefoot.errors import InputError
from surefoot.noise.boundaries import gaussian_boundary
from surefoot.statistics import Outcome, Phase

DELTA = 0.05
GRID = tuple((1.12 ** np.arange(20)).tolist())
BOUNDARY = gaussian_boundary(GRID, DELTA, (0.0,) * 20)
NO_TAU = np.zeros(())


def one_share(point: int) -> Rows:
    """Return a claim's shares that are one point."""
    return Rows(np.array([0, 1]), np.array([point]), np.ones(1))


def mixtures() -> Question:
    """Return two arms of four pairs each, compared by the means of their worst halves."""
    pairs = Rows(np.arange(9), np.arange(8), np.ones(8))
    return Question(np.array([0, 4, 8]), pairs, np.zeros((8, 1)), np.inf, np.full(8, 0.5))


def test_a_mixture_names_a_pair_once() -> None:
    """Twice a half of the worst pair would be all of it, which no worst half may be."""
    kernel = Certifier(mixtures(), ScaleScores(np.ones(8)), BOUNDARY, delta=DELTA)
    shares = Rows(np.array([0, 2]), np.array([0, 0]), np.array([0.5, 0.5]))
    claims = Claims(1, np.arange(4, 8), np.array([0]), np.array([0]), shares, NO_TAU)
    with pytest.raises(InputError, match="names a column once"):
        kernel.commit(Phase(0, np.full(8, 20)), [claims])


@pytest.mark.parametrize("huge", [1e308, 1e200])
def test_stakes_beyond_numbers_win_nothing(huge: float) -> None:
    """Guesses are finite, and what follows from them is not; limits far above raise nothing."""
    question = Question.worst_case(np.array([0, 1, 2]), np.zeros((2, 1)), np.inf)
    kernel = Certifier(question, WealthScores(np.full(2, 0.5)), WealthBoundary(DELTA), delta=DELTA)
    stakes = Stakes(np.full((1, 1), huge), np.ones((1, 1)), np.full((1, 1), huge), 0.0)
    first = np.array([0])
    claims = Claims(1, np.array([1]), first, first, one_share(0), NO_TAU, stakes)
    phase = Phase(0, np.array([10, 10]), batches=10)
    outcome = Outcome.from_rewards(phase, 2, np.repeat([0, 1], 10), np.repeat([0.9, 0.1], 10))

    def far_above(claims: Claims, scores: Array, said: Contrasts, root: Array) -> Array:
        return np.full(scores.shape, 100.0)

    kernel.update(kernel.commit(phase, [claims]), outcome, far_above)
    assert kernel.survivors[0]
    assert kernel.confidence(1)() <= 0.5


def test_a_clock_that_stands_still_after_an_overflow_wins_nothing() -> None:
    """A difference beyond all numbers, against the challenger, stays evidence against it."""
    question = Question.worst_case(np.array([0, 1, 2]), np.zeros((2, 1)), np.inf)
    kernel = Certifier(question, ScaleScores(np.full(2, 1e-10)), BOUNDARY, delta=DELTA)
    for index in range(2):
        phase = Phase(index, np.ones(2, dtype=np.int64))
        claims = Claims(1, np.array([1]), np.array([0]), np.array([0]), one_share(0), NO_TAU)
        outcome = Outcome.from_rewards(phase, 2, [0, 1], [1e300, -1e300])
        commitment = kernel.commit(phase, [claims])
        kernel.update(
            commitment, outcome, lambda claims, scores, said, root: np.full(scores.shape, 1e6)
        )
    assert kernel.survivors[0]


def test_rounding_of_a_fit_is_no_lead() -> None:
    """Means of 1e9 deviations, and variances guessed so that the fit of a slope rounds badly."""
    x = np.random.default_rng(0).normal(size=6)
    question = Question.worst_case(np.arange(7), np.c_[np.ones(6), x], 0.0)
    best, worst, pulls, batches = int(x.argmax()), int(x.argmin()), 100_000, 20
    means, basis = 1e9 + 1e-3 * x, question.basis
    wanted, wrong = basis[worst] - basis[best], 0
    rng = np.random.default_rng(1)
    guesses = 10.0 ** rng.uniform(-10, 10, (2000, 6))

    def biased(variances: Array) -> float:
        """Return the bias of a plain fit, in deviations of its contrast."""
        rows = basis / np.sqrt(variances)[:, None]
        a = wanted @ (np.linalg.pinv(rows) / np.sqrt(variances))
        exact = np.linalg.norm(a @ basis - wanted) <= 1e-9 * np.linalg.norm(wanted)
        return float(a.sum() * 1e9 / np.sqrt(a @ a / pulls)) if exact else -np.inf

    lie = max(guesses, key=biased)
    assert biased(lie) > 3  # a plain fit would be off by as much
    for run in range(40):
        noise = np.random.default_rng(run).normal(size=(batches, 6))
        kernel = Certifier(question, BatchScores(np.ones(6)), BOUNDARY, delta=DELTA)
        phase = Phase(0, np.full(6, pulls), batches=batches)
        claims = Claims(
            worst, np.array([worst]), np.array([best]), np.array([19]), one_share(best), NO_TAU
        )
        commitment = kernel.commit(phase, [claims], lie)
        sums = means * (pulls // batches) + np.sqrt(pulls // batches) * noise
        scatter = np.full(6, float(pulls))
        kernel.update(commitment, Outcome(0, phase.counts, sums.sum(axis=0), scatter, sums))
        wrong += not kernel.survivors[best]
    assert wrong <= 6  # P(more of 40 at a rate of 0.05) < 0.004


def test_features_that_nearly_depend_on_each_other_are_refused() -> None:
    """Seconds since 1970 that differ by thousandths: their slope would be lost in rounding."""
    seconds = 1.7e9 + np.arange(8) * 1e-3
    with pytest.raises(InputError, match="centre them"):
        Question.worst_case(np.arange(9), np.c_[np.ones(8), seconds, np.arange(8) % 2], 0.0)
    centred = np.c_[np.ones(8), seconds - 1.7e9, np.arange(8) % 2, np.arange(8) % 2]
    assert Question.worst_case(np.arange(9), centred, 0.0).basis.shape[1] == 3


def test_the_batches_of_a_phase_are_fixed_when_it_is_committed() -> None:
    """An array of no dimensions is a number that could be changed after the rewards."""
    question = Question.worst_case(np.array([0, 1, 2]), np.zeros((2, 1)), np.inf)
    kernel = Certifier(question, BatchScores(np.ones(2)), BOUNDARY, delta=DELTA)
    batches = np.array(2)
    phase = Phase(0, np.array([6, 6]), batches=batches)  # type: ignore[arg-type]
    claims = Claims(1, np.array([1]), np.array([0]), np.array([0]), one_share(0), NO_TAU)
    commitment = kernel.commit(phase, [claims], np.ones(2))
    batches[...] = 3
    outcome = Outcome.from_rewards(
        Phase(0, phase.counts, batches=3), 2, np.repeat([0, 1], 6), np.arange(12.0)
    )
    with pytest.raises(InputError, match="3 batches, not 2"):
        kernel.update(commitment, outcome)
    other = Certifier(question, BatchScores(np.ones(2)), BOUNDARY, delta=DELTA)
    with pytest.raises(InputError, match="whole numbers"):
        other.commit(Phase(0, phase.counts, batches=2.5))  # type: ignore[arg-type]
