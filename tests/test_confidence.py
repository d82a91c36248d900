from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.confidence import (
    one_sided_events,
    paper_threshold,
    self_normalised_radius,
    valid_spending,
)
from surefoot.whitening import unit_free_root


def test_the_papers_threshold() -> None:
    assert paper_threshold(75, 0.05) == pytest.approx(math.sqrt(2 * math.log(75**2 / 0.05)))


def test_events_are_counted_for_the_widest_arm_as_the_best() -> None:
    assert one_sided_events(np.array([0, 1, 6, 8])) == 2 * 5
    assert one_sided_events(np.array([0, 1, 2])) == 1


def test_valid_spending_sums_to_delta() -> None:
    spent = sum(valid_spending(0.1, look) for look in range(1, 200_000))
    assert 0.1 - 1e-6 < spent <= 0.1


def _mixture_bound(first: np.ndarray, total: np.ndarray, delta: float) -> float:
    """The same radius by determinants and an inverse."""
    kappa = np.linalg.eigvals(np.linalg.solve(total, first)).real.max()
    logs = np.linalg.slogdet(first + total)[1] - np.linalg.slogdet(first)[1]
    return math.sqrt((1 + kappa) * (logs + 2 * math.log(1 / delta)))


def test_the_radius_is_that_of_the_mixture() -> None:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((40, 4))
    first, total = rows[:8].T @ rows[:8], rows.T @ rows
    assert self_normalised_radius(unit_free_root(first), total, 0.05) == pytest.approx(
        _mixture_bound(first, total, 0.05)
    )


def test_the_radius_does_not_depend_on_the_units_of_the_features() -> None:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((40, 3))
    scaled = rows * [1e9, 1.0, 1e-7]
    one, other = (
        self_normalised_radius(unit_free_root(r[:8].T @ r[:8]), r.T @ r, 0.05)
        for r in (rows, scaled)
    )
    assert one == pytest.approx(other)


@pytest.mark.parametrize("first", [np.zeros((2, 2)), np.diag([1.0, 0.0]), np.ones((2, 2))])
def test_without_a_spanning_first_phase_nothing_is_known(first: np.ndarray) -> None:
    assert self_normalised_radius(unit_free_root(first), first + np.eye(2), 0.05) == math.inf


@pytest.mark.statistical
def test_the_ellipsoid_holds_at_all_looks_though_pulls_chase_the_noise() -> None:
    """Pulls go where the estimate deviates most upwards: the worst that adaptivity can do."""
    delta, d, misses, runs = 0.1, 3, 0, 400
    rows = np.eye(d)
    for child in np.random.SeedSequence(7).spawn(runs):
        generator = np.random.default_rng(child)
        counts = np.full(d, 2.0)
        sums = np.sqrt(2.0) * generator.standard_normal(d)
        first = np.diag(counts)
        missed = False
        for _ in range(60):
            estimate, A = sums / counts, np.diag(counts)
            missed |= math.sqrt(estimate @ A @ estimate) > self_normalised_radius(
                unit_free_root(first), A, delta
            )
            chosen = int(np.argmax(rows @ estimate))
            counts[chosen] += 1
            sums[chosen] += generator.standard_normal()
        misses += missed
    assert stats.binom.sf(misses - 1, runs, delta) > 1e-3
