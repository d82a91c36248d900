"""The finishing design against finite differences, closed forms and a general-purpose solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from surefoot.algorithms.prime import finishing
from surefoot.algorithms.prime.finishing import Rivals, finishing_design, kernels
from surefoot.algorithms.prime.tuning import Tuning

EFFORT = Tuning().effort


def problem(seed: int, n: int = 14, d: int = 4, rivals: int = 6) -> tuple[np.ndarray, Rivals]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, d)), Rivals(
        generator.standard_normal((rivals, d)),
        generator.uniform(0.1, 1.0, rivals),
        generator.uniform(0.5, 3.0, rivals),
        generator.uniform(1.0, 2.0, rivals),
        50.0,
    )


def log_probability(rows: np.ndarray, weights: np.ndarray, rivals: Rivals) -> float:
    inverse = np.linalg.inv((rows.T * weights) @ rows)
    lengths = np.sqrt(np.einsum("ki,ij,kj->k", rivals.directions, inverse, rivals.directions))
    return float(
        special.log_ndtr(
            (np.sqrt(rivals.pulls) * rivals.gaps / lengths - rivals.needs) / rivals.spreads
        ).sum()
    )


def derivatives(
    rows: np.ndarray, weights: np.ndarray, rivals: Rivals
) -> tuple[np.ndarray, np.ndarray]:
    (n, d), k = rows.shape, len(rivals.gaps)
    appraisal = kernels.blank_appraisal(k, d)
    kernels.evaluate(rows, weights, rivals, appraisal)
    gradient, lower = np.empty(n), np.empty((n, n))
    kernels.differentiate(rows, rivals, appraisal, gradient, lower)
    assert gradient == pytest.approx(
        finishing.appraised(rows, weights, rivals)[1], abs=1e-4 * gradient.max()
    )
    return gradient, lower + np.tril(lower, -1).T


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_match_finite_differences(seed: int) -> None:
    rows, rivals = problem(seed)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(rows)))
    gradient, curvature = derivatives(rows, weights, rivals)
    step = 1e-6
    for i in range(3):
        moved = weights.copy()
        moved[i] += step
        slope = (
            log_probability(rows, moved, rivals) - log_probability(rows, weights, rivals)
        ) / step
        assert gradient[i] == pytest.approx(slope, rel=2e-4, abs=1e-4 * gradient.max())
        change = (derivatives(rows, moved, rivals)[0] - gradient) / step
        assert -curvature[i] == pytest.approx(change, rel=2e-3, abs=1e-3 * np.abs(curvature).max())


@pytest.mark.parametrize("seed", range(6))
def test_it_is_as_good_as_a_general_solver(seed: int) -> None:
    rows, rivals = problem(seed)
    found, lengths = finishing_design(
        rows, np.full(len(rows), 1 / len(rows)), rivals, EFFORT._replace(tolerance=1e-3)
    )
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0).all()
    inverse = np.linalg.inv((rows.T * found) @ rows)
    squares = np.einsum("ki,ij,kj->k", rivals.directions, inverse, rivals.directions)
    assert lengths == pytest.approx(np.sqrt(squares), rel=1e-5)
    reference = optimize.minimize(
        lambda x: -log_probability(rows, np.exp(x - special.logsumexp(x)), rivals),
        np.zeros(len(rows)),
        method="L-BFGS-B",
        bounds=[(-8.0, 8.0)] * len(rows),  # no weight vanishes, so all matrices can be inverted
    )
    assert log_probability(rows, found, rivals) >= -reference.fun - 0.01


def test_one_direction_gives_the_c_optimal_design() -> None:
    # Elfving: for orthogonal pairs and v = Σ a_i e_i the best weights are |a_i| / Σ|a|
    direction = np.array([[3.0, -1.0, 1.0]])
    rivals = Rivals(direction, np.ones(1), np.full(1, 2.0), np.ones(1), 60.0)
    found, _ = finishing_design(
        np.eye(3), np.full(3, 1 / 3), rivals, EFFORT._replace(tolerance=1e-5)
    )
    assert found == pytest.approx(np.array([0.6, 0.2, 0.2]), abs=0.01)


def test_whitened_points_are_as_long_as_the_inverse_norm_says() -> None:
    generator = np.random.default_rng(1)
    rows, weights = generator.standard_normal((9, 5)), generator.dirichlet(np.ones(9))
    points = generator.standard_normal((7, 5))
    expected = np.einsum("ki,ij,kj->k", points, np.linalg.inv((rows.T * weights) @ rows), points)
    assert (finishing.whitened(points, rows, weights) ** 2).sum(axis=1) == pytest.approx(
        expected, rel=1e-5
    )


def test_directions_that_nothing_measures_are_long_but_finite() -> None:
    found = finishing.whitened(np.eye(2), np.eye(2), np.array([1.0, 0.0]))
    assert found[0, 0] == pytest.approx(1.0)
    assert 1e3 < found[1, 1] < 1e6


def test_the_mean_gradient_is_the_gain_of_more_pulls() -> None:
    rows, rivals = problem(3)
    weights = np.random.default_rng(3).dirichlet(np.ones(len(rows)))
    more = Rivals(
        rivals.directions, rivals.gaps, rivals.needs, rivals.spreads, rivals.pulls * (1 + 1e-6)
    )
    gain = (log_probability(rows, weights, more) - log_probability(rows, weights, rivals)) / 1e-6
    assert weights @ finishing.appraised(rows, weights, rivals)[1] == pytest.approx(gain, rel=1e-3)


def test_no_pulls_are_wasted_beyond_the_tolerance() -> None:
    for seed in range(20):
        rows, rivals = problem(seed, n=60, d=6, rivals=25)
        weights, _ = finishing_design(rows, np.full(60, 1 / 60), rivals, EFFORT)
        gradient = finishing.appraised(rows, weights, rivals)[1]
        assert gradient.max() <= 1.02 * max(weights @ gradient, kernels.FLAT)


def close_call() -> tuple[np.ndarray, Rivals]:
    """Two unit vectors; the rival's direction lies almost along the second, and a little along the
    first.
    """
    direction = np.array([[5e-5, 1e-2]])
    return np.eye(2), Rivals(direction, np.array([1e-4]), np.array([2.0]), np.array([1.0]), 1e5)


def test_a_pair_that_rounding_lost_gets_a_pull_back() -> None:
    rows, rival = close_call()
    lost, none_aside = np.array([0, 100]), np.array([0, 0])
    assert (
        finishing.appraised(rows, lost / 100, rival)[1][0]
        > 1e3 * finishing.appraised(rows, lost / 100, rival)[1][1]
    )
    assert finishing.exchanged(lost, none_aside, rows, rival, EFFORT).tolist() == [1, 99]
    assert lost.tolist() == [0, 100]
    assert finishing.exchanged(lost, np.array([1, 0]), rows, rival, EFFORT).tolist() == [0, 100]


def test_counts_that_measure_every_rival_are_left_alone() -> None:
    rows, rival = close_call()
    assert finishing.exchanged(
        np.array([1, 99]), np.array([0, 0]), rows, rival, EFFORT
    ).tolist() == [1, 99]


def test_exchanges_make_finishing_likelier_and_keep_the_pulls() -> None:
    generator = np.random.default_rng(0)
    rows, directions = generator.standard_normal((12, 3)), generator.standard_normal((5, 3))
    rivals = Rivals(directions, np.full(5, 0.5), np.full(5, 2.0), np.ones(5), 60.0)
    for _ in range(20):
        before, aside = generator.integers(0, 4, 12), generator.integers(0, 2, 12)
        after = finishing.exchanged(before, aside, rows, rivals, EFFORT)
        assert after.sum() == before.sum()
        assert (after >= 0).all()
        likely = [
            log_probability(rows, (c + aside) / (c + aside).sum(), rivals) for c in (before, after)
        ]
        assert likely[1] >= likely[0]
