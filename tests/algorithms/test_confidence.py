from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from surefoot.algorithms.confidence import (
    combined_intervals,
    one_sided_events,
    paper_threshold,
    scale_bound,
    self_normalised_radius,
    valid_spending,
)
from surefoot.certify import student_widths
from surefoot.design.whitening import unit_free_root


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


def _student_ratio(deviations: np.ndarray, kappa: float) -> float:
    """The likelihood ratio of scale invariants by quadrature: over effects, and scales by dσ/σ."""

    def marginal(effect: float) -> float:
        def density(log_scale: float) -> float:
            z = deviations * math.exp(-log_scale) - effect
            return math.exp(-0.5 * float(z @ z) - len(z) * log_scale)

        return integrate.quad(density, -6.0, 12.0, limit=400)[0]

    def weighted(effect: float) -> float:
        return marginal(effect) * stats.norm.pdf(effect, scale=1 / math.sqrt(kappa))

    return integrate.quad(weighted, -12.0, 12.0, limit=200)[0] / marginal(0.0)


@pytest.mark.parametrize("deviations", [[0.7], [0.3, 1.1, 0.6], [2.0, 1.1, 1.6, 1.4, 1.3, 1.7]])
def test_students_martingale_is_the_ratio_of_marginal_likelihoods(deviations: list[float]) -> None:
    """The closed form of the docstring, and that it begins at 1."""
    x, kappa = np.array(deviations), 0.5
    n, d = len(x), float(x.mean())
    squares = float(((x - d) ** 2).sum())
    shrunk = squares + n * d**2 * kappa / (n + kappa)
    closed = math.sqrt(kappa / (n + kappa)) * ((squares + n * d**2) / shrunk) ** (n / 2)
    assert _student_ratio(x, kappa) == pytest.approx(closed, rel=1e-3)
    assert n > 1 or closed == pytest.approx(1.0)


def test_students_width_is_where_the_martingale_reaches_its_level() -> None:
    counts, squares, alpha, kappa = np.array([5, 8, 40]), np.array([3.0, 0.2, 90.0]), 0.01, 0.1
    d = student_widths(counts, squares, alpha)
    shrunk = squares + counts * d**2 * kappa / (counts + kappa)
    ratio = ((squares + counts * d**2) / shrunk) ** (counts / 2)
    assert np.sqrt(kappa / (counts + kappa)) * ratio == pytest.approx(np.full(3, 1 / alpha))
    assert np.isinf(student_widths(np.array([0, 1, 2, 3]), np.ones(4), alpha)).all()


@pytest.mark.statistical
def test_students_widths_hold_at_all_counts_at_once_and_waste_little() -> None:
    """With 2 000 sequences of 1 000 rewards and a level of 0.001 for α = 0.1, a true rate of 0.13
    is found with probability 0.86, and one of 0.15 with 0.9998.
    """
    alpha, runs, n = 0.1, 2000, np.arange(1, 1001)
    rewards = np.random.default_rng(5).standard_normal((runs, len(n)))
    means = np.cumsum(rewards, axis=1) / n
    squares = np.cumsum(rewards**2, axis=1) - n * means**2
    misses = sum(
        bool((np.abs(mean) > student_widths(n, np.maximum(own, 0.0), alpha)).any())
        for mean, own in zip(means, squares, strict=True)
    )
    assert stats.binom.sf(misses - 1, runs, alpha) > 1e-3
    assert misses > 0.4 * alpha * runs


@pytest.mark.statistical
def test_the_bound_of_a_scale_holds_at_all_looks_though_phases_chase_it() -> None:
    """Phases are large while the variance looks small. With 1 000 runs and a level of 0.001 for
    δ = 0.1, a true rate of 0.15 is found with probability 0.96.
    """
    delta, runs, misses = 0.1, 1000, 0
    generator = np.random.default_rng(11)
    for _ in range(runs):
        squares = freedom = 0.0
        missed = False
        for _ in range(25):
            step = 8 if squares < freedom else 1
            squares, freedom = squares + generator.chisquare(step), freedom + step
            missed |= scale_bound(squares, freedom, delta) < 1.0
        misses += missed
    assert stats.binom.sf(misses - 1, runs, delta) > 1e-3
    assert misses > 0.1 * delta * runs


def test_the_bound_of_a_scale_follows_the_unit_and_needs_some_freedom() -> None:
    assert scale_bound(9 * 40.0, 40.0, 0.05) == pytest.approx(3 * scale_bound(40.0, 40.0, 0.05))
    assert scale_bound(1e6, 1e6, 0.05) == pytest.approx(1.0, abs=0.005)
    assert scale_bound(1e15, 1e15, 0.05) == pytest.approx(1.0, abs=1e-5)
    assert scale_bound(1.0, 1.0, 0.05) == scale_bound(0.0, 0.0, 0.05) == math.inf


@pytest.mark.parametrize("misfit", [0.0, 0.3])
def test_combined_intervals_hold_all_that_the_pairs_allow(misfit: float) -> None:
    """Never narrower than the linear programme over all means allowed, never wider than a pair's
    own interval.
    """
    generator = np.random.default_rng(3)
    points, theta = generator.standard_normal((9, 3)), generator.standard_normal(3)
    widths = np.exp(generator.standard_normal(9))
    widths[[2, 6]] = np.inf
    known = np.isfinite(widths)
    errors = np.where(known, widths, 0.0) * generator.uniform(-1, 1, 9)
    means = points @ theta + misfit * generator.uniform(-1, 1, 9) + errors
    lower, upper = combined_intervals(points, np.where(known, means, np.nan), widths, misfit)
    allowed = [(-misfit, misfit)] * 9
    rows = np.hstack([points, np.eye(9)])[known]
    limits = np.concatenate([(means + widths)[known], (widths - means)[known]])
    for pair in range(9):
        goal = np.concatenate([points[pair], np.eye(9)[pair]])
        ends = [
            sign * optimize.linprog(
                sign * goal, np.vstack([rows, -rows]), limits, bounds=[(None, None)] * 3 + allowed
            ).fun
            for sign in (1, -1)
        ]  # fmt: skip
        assert lower[pair] <= ends[0] + 1e-9
        assert upper[pair] >= ends[1] - 1e-9
        assert upper[pair] - lower[pair] <= 2 * widths[pair] + 1e-12
    assert np.isfinite(upper - lower).all()


def test_combined_intervals_are_endless_where_no_pair_reaches() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    widths = np.array([0.5, np.inf, np.inf])
    lower, upper = combined_intervals(points, np.array([1.0, np.nan, np.nan]), widths)
    assert lower.tolist() == pytest.approx([0.5, -np.inf, 1.0])
    assert upper.tolist() == pytest.approx([1.5, np.inf, 3.0])
    lower, upper = combined_intervals(points, np.full(3, np.nan), np.full(3, np.inf))
    assert np.isinf(lower).all()
    assert np.isinf(upper).all()


def test_blocks_do_not_change_combined_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).standard_normal((7, 2))
    whole = combined_intervals(points, np.arange(7.0), np.ones(7), 0.1)
    monkeypatch.setattr("surefoot.algorithms.confidence.BLOCK", 1)
    for one, other in zip(combined_intervals(points, np.arange(7.0), np.ones(7), 0.1), whole,
                          strict=True):  # fmt: skip
        assert one == pytest.approx(other)


def test_of_many_pairs_those_that_tell_most_are_combined() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0]] * 50)
    widths = np.where(np.arange(100) < 60, 1.0, 0.1)
    lower, upper = combined_intervals(points, np.zeros(100), widths)
    assert upper == pytest.approx(np.full(100, 0.1))
    assert lower == pytest.approx(-upper)


@pytest.mark.parametrize("kappa", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-6])
def test_widths_are_infinite_until_they_shrink(alpha: float, kappa: float) -> None:
    """Pulls of one scatter each: no width is NaN or 0, and none grows with the number of pulls."""
    counts = np.arange(400)
    widths = student_widths(counts, counts.astype(float), alpha, kappa)
    finite = np.flatnonzero(np.isfinite(widths))
    assert np.isposinf(widths[: finite[0]]).all()
    assert len(finite) == 400 - finite[0]
    assert (np.diff(widths[finite]) < 0).all()
    assert widths[-1] > 0
