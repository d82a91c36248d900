"""Which contrast says most: against the kernel's own weights, and every mixture on a fine grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.certified import clock_boundary
from surefoot.arrays import Array
from surefoot.certify import Certifier, Question, ScaleScores
from surefoot.plan.contrasts import Compared, Measured, Race, by_model
from surefoot.plan.view import Space, View
from surefoot.statistics import Outcome, Phase

N_ARMS, N_OWN, DIMENSION = 4, 3, 3
N = N_ARMS * N_OWN
PROBLEM = sf.RobustProblem.from_pairs(
    np.random.default_rng(7).normal(size=(N, DIMENSION)), np.repeat(np.arange(N_ARMS), N_OWN)
)
RIVALS = np.array([1, 2, 3])


def world(seed: int, misfit: float) -> tuple[Space, View]:
    """A view of noisy pulls of all pairs."""
    rng = np.random.default_rng(seed)
    space = Space.of(PROBLEM, np.ones(N), misfit)
    counts = rng.integers(1, 9, N)
    means = PROBLEM.pairs @ rng.normal(size=DIMENSION) + rng.normal(size=N) / np.sqrt(counts)
    return space, space.fitted(counts, counts * means, np.ones(N))


def found(space: Space, view: View, counts: Array, cautious: bool) -> Compared:
    pairs = np.flatnonzero(counts)
    race = Race(0, np.arange(N_OWN), RIVALS, np.zeros((N_OWN, 3)))
    return by_model(space, view, race, Measured(pairs, view.noise[pairs] / counts[pairs]), cautious)


@pytest.mark.parametrize("misfit", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_gaps_and_lengths_are_those_of_the_kernels_contrasts(misfit: float, seed: int) -> None:
    """Rewards that equal what is expected give scores of gap / length: bias and all."""
    space, view = world(seed, misfit)
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(N) < 0.7, rng.integers(1, 20, N), 0)
    compared = found(space, view, counts, cautious=misfit == 0)
    settings = sf.Settings(delta=0.05, noise=sf.Gaussian(1.0), misfit=misfit)
    question = Question.worst_case(PROBLEM.offsets, PROBLEM.pairs, misfit)
    scores = ScaleScores(np.ones(N))
    certifier = Certifier(question, scores, clock_boundary(settings), delta=0.05)
    claims = compared.claims(np.zeros(3, dtype=np.int64))
    commitment = certifier.commit(Phase(0, counts), [claims])
    outcome = Outcome(0, counts, counts * view.means, np.zeros(N))
    certifier.update(commitment, outcome)
    measured = compared.lengths > 0
    assert measured.any()
    expected = np.where(measured, compared.gaps / np.where(measured, compared.lengths, 1.0), 0.0)
    held = certifier.walks.held(0)[RIVALS].T
    measured &= np.isfinite(held)  # what is settled holds no more
    assert measured.any()
    assert held[measured] == pytest.approx(expected[measured], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_no_single_pair_is_clearer_than_the_mixture(seed: int) -> None:
    space, view = world(seed, 0.0)
    compared = found(space, view, np.full(N, 3), cautious=True)
    information = space.features.T @ (3 * space.features)
    for k in range(N_OWN):
        for a, arm in enumerate(RIVALS):
            clear = compared.gaps[k, a] / math.hypot(compared.lengths[k, a], compared.doubts[k, a])
            for rival in np.arange(N)[PROBLEM.pairs_of(arm)]:
                apart = space.features[k] - space.features[rival]
                ahead = math.sqrt(apart @ np.linalg.solve(information, apart))
                behind = np.linalg.norm(view.located[k] - view.located[rival])
                gap = view.means[k] - view.means[rival]
                assert clear >= gap / math.hypot(ahead, behind) - 1e-9


def test_shares_are_shares() -> None:
    space, view = world(1, 0.1)
    shares = found(space, view, np.full(N, 3), cautious=False).shares
    filled = np.flatnonzero(shares.sizes)
    assert len(filled)
    assert (shares.values > 0).all()
    assert np.add.reduceat(shares.values, shares.starts[filled]) == pytest.approx(1.0)


def test_a_large_misfit_leaves_direct_differences() -> None:
    space, view = world(3, 1e3)
    compared = found(space, view, np.full(N, 3), cautious=False)
    speaking = compared.lengths > 0
    assert speaking.any()
    assert np.isinf(compared.deviation[speaking]).all()


def test_hope_tries_a_pair_of_which_little_is_known() -> None:
    """A pair that seems no worse, but is hardly known, against one that is known to be no worse."""
    problem = sf.RobustProblem.from_pairs(np.eye(3), [0, 1, 1])
    space = Space.of(problem, np.ones(3), 0.0)
    counts = np.array([1000, 1000, 2])
    view = space.fitted(counts, counts * np.array([0.0, -0.01, 0.1]), np.ones(3))
    race = Race(0, np.array([0]), np.array([1]), np.zeros((1, 1)))
    measured = Measured(np.arange(3), np.full(3, 0.1))
    hoped = by_model(space, view, race, measured, cautious=False)
    feared = by_model(space, view, race, measured, cautious=True)
    assert hoped.shares.columns[hoped.shares.values.argmax()] == 2
    assert feared.shares.columns[feared.shares.values.argmax()] == 1
