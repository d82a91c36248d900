"""Batches become vectors whose rows are independent, whatever the noise levels."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.certify import BatchScores, Certifier, Claims, Question, Rows
from surefoot.certify.score import batch_means, spread_means
from surefoot.noise.boundaries import gaussian_boundary
from surefoot.statistics import Outcome, Phase
from tests.certify.phases import drawn

COUNTS = np.array([4, 7, 23, 0, 9])
PULLED = np.array([0, 1, 2, 4])
SCALES = np.array([1.0, 10.0, 0.1, 1.0, 3.0])


def test_batch_means_are_the_means_of_each_batch() -> None:
    phase = Phase(0, np.array([4, 5]), 2)
    outcome = Outcome.from_rewards(
        phase, 2, [0, 1, 0, 1, 1, 0, 0, 1, 1], [1, 10, 2, 20, 30, 3, 4, 40, 1000]
    )
    assert batch_means(outcome, np.array([0, 1])).tolist() == [[1.5, 15.0], [3.5, 35.0]]


def test_spread_means_average_to_the_mean_of_all_pulls_extras_included() -> None:
    outcome = drawn(np.random.default_rng(1), Phase(0, COUNTS, 4), SCALES, 7.0)
    averages = outcome.sums[PULLED] / COUNTS[PULLED]
    assert np.allclose(spread_means(outcome, PULLED).mean(axis=0), averages, rtol=1e-12)


def test_rows_have_the_stated_covariance() -> None:
    """Cov(U_ib, U_jc) = (m σ_i² / n_i) if i = j and b = c, else 0: within 5 standard errors."""
    rng, m, runs = np.random.default_rng(2), 4, 6000
    phase = Phase(0, COUNTS, m)
    vectors = np.array(
        [spread_means(drawn(rng, phase, SCALES), PULLED).ravel() for _ in range(runs)]
    )
    variances = np.tile(m * SCALES[PULLED] ** 2 / COUNTS[PULLED], m)
    standardised = vectors / np.sqrt(variances)
    found = standardised.T @ standardised / runs
    assert np.abs(found - np.eye(len(found))).max() < 5 * np.sqrt(2 / runs)


def test_plain_batch_means_of_all_pulls_would_not_have_it() -> None:
    """Without the factor √(m q / n) a pair with extras has too large a variance: 4/7 of the pulls
    in batches carry 7/4 of it.
    """
    rng, m, runs = np.random.default_rng(3), 4, 4000
    phase = Phase(0, COUNTS, m)
    values = np.array([batch_means(drawn(rng, phase, SCALES), PULLED)[:, 1] for _ in range(runs)])
    assert np.isclose(values.var() * 7 / (m * SCALES[1] ** 2), 7 / 4, rtol=0.06)


def test_shared_streams_use_whole_batches_only() -> None:
    """Pulls outside of the batches share no stream with anything: they must not count."""
    rule, pairs = BatchScores(np.ones(2)), np.array([0, 1])
    for shared in (True, False):
        rewards = [1.0, 2.0, 3.0, 4.0, 9.0, 1.0, 3.0, 2.0, 5.0]
        found = []
        for extra in (9.0, -700.0):
            rewards[4] = extra
            phase = Phase(0, np.array([5, 4]), 2, shared=shared)
            outcome = Outcome.from_rewards(phase, 2, [0] * 5 + [1] * 4, rewards)
            found.append(rule.means(outcome, pairs, shared))
        assert np.array_equal(*found) == shared


@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("shares", [[1 / 3] * 3, [0.2] * 5, [0.1, 0.25, 0.65]], ids=str)
def test_arms_that_are_alike_to_the_bit_are_never_told_apart(
    shares: list[float], misfit: float
) -> None:
    """Streams that are shared give all pairs one reward; a mixture of them rounds it."""
    n, m, grid = len(shares), 6, 8
    times, tau = tuple((1.4 ** np.arange(grid)).tolist()), np.array(np.inf if misfit else 0.0)
    boundary = gaussian_boundary(times, 0.049, (0.0,) * grid)
    features = np.vander(np.arange(n + 1.0), 2)
    asked = Question.worst_case(np.array([0, n, n + 1]), features, misfit)
    one = Certifier(asked, BatchScores(np.ones(n + 1)), boundary, delta=0.05)
    rng, row = np.random.default_rng(5), Rows(np.array([0, n]), np.arange(n), np.array(shares))
    for index in range(grid):
        claims = Claims(1, np.array([n]), np.array([0]), np.array([index]), row, tau)
        phase = Phase(index, np.full(n + 1, m), m, shared=True)
        alike = np.repeat(10 + rng.normal(size=(m, 1)), n + 1, axis=1)
        commitment = one.commit(phase, [claims], np.ones(n + 1))
        one.update(commitment, Outcome(index, phase.counts, alike.sum(0), alike.var(0), alike))
        assert one.walks.walk()[0] < 0.1


@pytest.mark.parametrize("misfit", [0.0, 0.1, np.inf])
def test_a_phase_that_has_no_batch_of_any_pair_says_nothing(misfit: float) -> None:
    boundary = gaussian_boundary((1.0, 1.4), 0.049, (0.0, 0.0))
    asked = Question.worst_case(np.arange(4), np.vander(np.arange(3.0), 2), misfit)
    one = Certifier(asked, BatchScores(np.ones(3)), boundary, delta=0.05)
    row = Rows(np.array([0, 1]), np.array([1]), np.ones(1))
    claims = Claims(0, np.array([0]), np.array([1]), np.array([1]), row, np.zeros(()))
    phase = Phase(0, np.full(3, 4), 5)
    commitment = one.commit(phase, [claims], np.ones(3))
    one.update(commitment, Outcome(0, phase.counts, np.ones(3), np.ones(3), np.zeros((5, 3))))
    assert one.survivors.all()
    assert not one.walks.walk().any()
    assert one.promised.tolist() == [-1, 1, -1]
