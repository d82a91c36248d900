"""Designs: their rounding, their coordinates, and G- and XY-optimal ones against other solvers."""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.design import (
    Design,
    g_design,
    g_optimal,
    robust_xy,
    robust_xy_design,
    round_design,
    rounding_minimum,
    xy_optimal,
)
from surefoot.design.designs import by_remainders
from surefoot.design.whitening import (
    cholesky_whitener,
    measured_root,
    spectral_whitener,
    unit_free_root,
    whiten,
    whiten_exactly,
)
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from tests.design.references import (
    exact_programme,
    matrix_programme,
    members,
    ragged_instance,
    random_map,
    random_weights,
    singleton_instance,
    xy_criterion,
)


def test_gap_is_relative_to_the_bound_and_support_lists_the_pairs():
    design = Design(np.array([0.5, 0.0, 0.5]), value=1.1, lower_bound=1.0)
    assert math.isclose(design.gap, 0.1)
    assert design.support.tolist() == [0, 2]
    assert "2 of 3 pairs" in repr(design)


def test_gap_without_a_positive_bound():
    assert Design(np.ones(1), 1.0, 0.0).gap == math.inf
    assert Design(np.ones(1), 0.0, 0.0).gap == 0.0


weights_lists = arrays(
    np.float64,
    st.integers(1, 30),
    elements=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
).filter(lambda weights: weights.sum() > 0)


@given(weights_lists, st.integers(0, 500))
def test_sums_to_n_and_zero_weights_get_zero_pulls(weights, n):
    counts = round_design(weights, n)
    assert counts.dtype == np.int64
    assert counts.sum() == n
    assert (counts >= 0).all()
    assert (counts[weights == 0] == 0).all()


@given(weights_lists, st.integers(1, 500))
def test_is_the_efficient_apportionment(weights, n):
    """Counts round ν·w up, for one ν shared by all pairs (up to ties): no pull can move to a
    needier pair.
    """
    shares = weights / weights.sum()
    support = shares > 0
    if n < support.sum():
        return
    counts, shares = round_design(weights, n)[support], shares[support]
    assert np.max((counts - 1) / shares) <= np.min(counts / shares) * (1 + 1e-9)
    assert (counts >= 1).all()
    assert (np.abs(counts - np.ceil((n - shares.size / 2) * shares)) <= shares.size).all()


@given(weights_lists, st.floats(0.01, 1.0))
def test_efficiency_from_the_paper_s_minimum_on(weights, epsilon):
    n = rounding_minimum(weights, epsilon)
    shares = weights / weights.sum()
    support = shares > 0
    efficiency = np.min(round_design(weights, n)[support] / (n * shares[support]))
    assert efficiency >= (1 - 1e-9) / (1 + epsilon)


def test_a_small_case_by_hand():
    assert round_design([0.5, 0.3, 0.2], 10).tolist() == [5, 3, 2]
    assert round_design([0.45, 0.45, 0.1], 5).tolist() == [2, 2, 1]


def test_many_pairs_of_which_half_must_gain_are_rounded_at_once():
    """The worst case: everything is rounded down to 1, and half of the pairs have to gain one."""
    counts = round_design(np.ones(100_000), 150_000)
    assert counts.tolist() == [2] * 50_000 + [1] * 50_000


def test_fewer_pulls_than_support_go_to_the_largest_weights():
    assert round_design([0.1, 0.4, 0.3, 0.2], 2).tolist() == [0, 1, 1, 0]


def test_rounding_minimum_counts_the_support():
    assert rounding_minimum([0.5, 0.0, 0.5], 0.1) == 40


@pytest.mark.parametrize("weights", [[-0.1, 1.1], [0.0, 0.0], [np.nan, 1.0], [[0.5, 0.5]], []])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="non-negative"):
        round_design(weights, 3)


def test_bad_numbers_are_refused():
    with pytest.raises(InputError, match="whole number"):
        round_design([1.0], -1)
    with pytest.raises(InputError, match="whole number"):
        round_design([1.0], 1.5)
    with pytest.raises(InputError, match="above 0"):
        rounding_minimum([1.0], 0.0)


@pytest.mark.parametrize("n", [0, 1, 7, 100, 12345])
def test_remainders_add_up_and_stay_near_the_shares(n: int) -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(9))
    counts = by_remainders(n * shares, n)
    assert counts.sum() == n
    assert np.abs(counts - shares * n).max() < 1


def test_the_largest_remainders_are_rounded_up() -> None:
    assert by_remainders(np.array([1.2, 0.9, 2.5, 0.4]), 5).tolist() == [1, 1, 3, 0]


def test_mean_outer_product_becomes_the_identity_and_criteria_stay():
    generator = np.random.default_rng(0)
    pairs = generator.normal(size=(30, 4)) * [1e-5, 1.0, 1e4, 3.0]
    rows = pairs / generator.uniform(0.5, 2.0, size=30)[:, None]
    new_pairs, new_rows = whiten(pairs, rows)
    np.testing.assert_allclose(new_rows.T @ new_rows / 30, np.eye(4), atol=1e-9)
    weights = generator.dirichlet(np.ones(30))
    before = pairs @ np.linalg.solve((rows.T * weights) @ rows, pairs.T)
    after = new_pairs @ np.linalg.solve((new_rows.T * weights) @ new_rows, new_pairs.T)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6 * np.abs(before).max())


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.array([[1.0, 0.0], [2.0, 0.0]])])
def test_rows_that_do_not_span_are_refused(rows):
    with pytest.raises(InputError, match="do not span"):
        whiten(rows, rows)


def test_whitener_inverts_and_refuses_singular_matrices():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    whitener = cholesky_whitener(matrix)
    np.testing.assert_allclose(whitener.T @ whitener, np.linalg.inv(matrix))
    assert cholesky_whitener(np.zeros((2, 2))) is None


def test_directions_outside_the_range_are_huge():
    whitener = spectral_whitener(np.diag([1.0, 0.0]))
    lengths = ((np.eye(2) @ whitener.T) ** 2).sum(axis=1)
    assert lengths[0] == pytest.approx(1.0)
    assert lengths[1] >= 1e9


def test_ways_of_full_rank_agree_and_see_what_is_singular():
    rows = np.random.default_rng(3).normal(size=(9, 3)) * [1e-6, 1.0, 1e6]
    information = rows.T @ rows
    root = unit_free_root(information)
    np.testing.assert_allclose(root.T @ information @ root, np.eye(3), atol=1e-6)
    points, measured = whiten_exactly(rows, rows)
    np.testing.assert_allclose(points, measured, atol=1e-8)
    np.testing.assert_allclose(measured.T @ measured / 9, np.eye(3), atol=1e-10)
    flat = rows * [1.0, 1.0, 0.0]
    assert unit_free_root(flat.T @ flat) is None


@pytest.mark.parametrize("small", [1.0, 1e-5, 1e-8, 1e-13, 0.0])
def test_what_a_phase_measures_is_whitened_and_what_it_does_not_is_hidden(small: float) -> None:
    """By either decomposition: directions measured well, hardly, and not at all."""
    generator = np.random.default_rng(2)
    left, right = (
        np.linalg.qr(generator.standard_normal((9, 4)))[0],
        np.linalg.qr(generator.standard_normal((4, 4)))[0],
    )
    singular = np.array([3.0, 2.0, 1.0, small])
    design = (left * singular) @ right.T
    root, hidden = measured_root(design)
    rank = 4 if small > 1e-11 else 3
    assert root.shape == (4, rank)
    assert root.T @ design.T @ design @ root == pytest.approx(
        np.eye(rank), abs=1e-15 / max(small, 1e-10)
    )
    assert np.linalg.norm(design @ hidden) <= 1e-12
    assert hidden.T @ hidden == pytest.approx(np.eye(4 - rank), abs=1e-12)


def test_fewer_pairs_than_dimensions_hide_the_rest() -> None:
    root, hidden = measured_root(np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    assert np.abs(root).max(axis=1) == pytest.approx([0.5, 0.25, 0.0])
    assert np.abs(hidden[:, 0]) == pytest.approx([0.0, 0.0, 1.0])


def largest_variance(rows, weights):
    inverse = np.linalg.inv((rows.T * weights) @ rows)
    return np.einsum("ij,jk,ik->i", rows, inverse, rows).max()


@pytest.mark.parametrize(("n", "dimension"), [(1, 1), (7, 1), (12, 5), (75, 10), (3_000, 8)])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_kiefer_wolfowitz_value_is_the_dimension(n, dimension, tolerance):
    rows = np.random.default_rng([n, dimension]).normal(size=(n, dimension))
    design = g_optimal(rows, tolerance)
    assert design.lower_bound == dimension
    assert dimension * (1 - 1e-9) <= design.value <= dimension * (1 + tolerance)
    assert design.value == pytest.approx(largest_variance(rows, design.weights), rel=1e-9)
    assert design.weights.sum() == pytest.approx(1.0)
    assert (design.weights >= 0).all()


def test_every_pulled_pair_has_the_largest_variance():
    rows = np.random.default_rng(1).normal(size=(60, 4))
    weights = g_optimal(rows, 1e-6).weights
    inverse = np.linalg.inv((rows.T * weights) @ rows)
    variances = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    assert (weights == 0).sum() >= 60 - 4 * 5 // 2 - 1
    np.testing.assert_allclose(variances[weights > 1e-4], 4.0, rtol=1e-2)


def test_orthogonal_rows_share_equally():
    rows = np.diag([1.0, 5.0, 0.01, 300.0])
    np.testing.assert_allclose(g_optimal(rows, 1e-9).weights, 0.25, rtol=1e-6)


def test_agrees_with_a_determinant_programme():
    rows = np.random.default_rng(2).normal(size=(25, 4))
    weights = cp.Variable(25, nonneg=True)
    problem = cp.Problem(
        cp.Maximize(cp.log_det(rows.T @ cp.diag(weights) @ rows)), [cp.sum(weights) == 1]
    )
    problem.solve(solver=cp.CLARABEL)
    ours = g_optimal(rows, 1e-6).weights
    assert np.linalg.slogdet((rows.T * ours) @ rows)[1] == pytest.approx(problem.value, abs=1e-5)


def test_g_designs_do_not_depend_on_the_coordinates():
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(400, 6))
    np.testing.assert_allclose(
        g_optimal(rows @ random_map(generator, 6), 1e-7).weights,
        g_optimal(rows, 1e-7).weights,
        atol=1e-3,
    )


def test_extreme_rows_hidden_in_a_subspace_are_found():
    generator = np.random.default_rng(4)
    rows = np.zeros((5_000, 3))
    rows[:, :2] = 100 * generator.normal(size=(5_000, 2))
    rows[17, 2] = 1e-3
    design = g_optimal(rows)
    assert design.gap <= 1e-3
    assert design.weights[17] == pytest.approx(1 / 3, rel=1e-2)


def test_zero_rows_are_never_pulled():
    rows = np.vstack([np.zeros((3, 2)), np.eye(2)])
    assert g_optimal(rows).weights[:3].tolist() == [0.0, 0.0, 0.0]


def test_a_g_design_of_rows_that_do_not_span_is_refused():
    with pytest.raises(InputError, match="span"):
        g_optimal(np.ones((4, 2)))


def test_g_design_of_a_problem():
    problem = RobustProblem.paper(np.eye(3), [np.zeros((1, 3))] * 3)
    design = g_design(problem)
    np.testing.assert_allclose(design.weights, 1 / 3, rtol=1e-2)


E12_PAIRS = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 10], [1, 0, 1], [0, 1, 0], [0, 0, 9]])
E12_OFFSETS = np.array([0, 3, 6])


@pytest.mark.parametrize("seed", range(4))
def test_convex_problem_agrees_with_a_matrix_programme(seed):
    generator = np.random.default_rng(seed)
    rows, directions = generator.normal(size=(15, 4)), generator.normal(size=(10, 4))
    design = xy_optimal(directions, rows, tolerance=1e-5)
    assert design.gap <= 1e-5
    reference = matrix_programme(directions, rows)
    assert design.lower_bound * (1 - 1e-6) <= reference <= design.value * (1 + 1e-5)


def test_one_direction_of_orthogonal_rows_is_elfving_s():
    direction, lengths = np.array([3.0, -1.0, 0.0, 2.0]), np.array([1.0, 2.0, 1.0, 4.0])
    design = xy_optimal(direction[None], np.diag(lengths), tolerance=1e-8)
    shares = np.abs(direction) / lengths
    assert design.value == pytest.approx(shares.sum() ** 2, rel=1e-7)
    np.testing.assert_allclose(design.weights, shares / shares.sum(), atol=1e-4)
    assert design.weights[2] == 0.0


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_bounds_hold_for_every_design(seed):
    generator = np.random.default_rng(seed)
    pairs, offsets, _ = ragged_instance(seed, n_arms=4, most=3)
    if np.linalg.matrix_rank(pairs) < 3:
        return
    arms = list(range(4))
    design = robust_xy(pairs, offsets)
    assert design.lower_bound <= design.value
    assert (design.weights >= 0).all()
    assert design.weights.sum() == pytest.approx(1.0)
    for _ in range(10):
        weights = random_weights(generator, len(pairs))
        assert xy_criterion(pairs, offsets, weights, arms) >= design.lower_bound * (1 - 1e-9)
        blended = 0.98 * design.weights + 0.02 * weights
        assert xy_criterion(pairs, offsets, blended, arms) >= design.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_value_is_the_criterion_and_beats_simple_designs(seed):
    pairs, offsets, _ = ragged_instance(seed, n_arms=6, dimension=4)
    design = robust_xy(pairs, offsets)
    arms = list(range(6))
    assert design.value == pytest.approx(
        xy_criterion(pairs, offsets, design.weights, arms), rel=1e-6
    )
    assert design.value <= xy_criterion(pairs, offsets, np.full(len(pairs), 1 / len(pairs)), arms)
    assert design.value <= 1.0001 * xy_criterion(pairs, offsets, g_optimal(pairs).weights, arms)


@pytest.mark.parametrize("seed", range(3))
def test_lower_bound_is_the_hull_relaxation(seed):
    pairs, offsets, _ = ragged_instance(seed, n_arms=3, dimension=3, most=3)
    blocks = []
    for arm in range(3):
        for z in members(offsets, arm):
            for rival in (other for other in range(3) if other != arm):
                rows = pairs[z] - pairs[list(members(offsets, rival))]
                blocks.append((rows, np.ones(len(rows))))
    reference = exact_programme(blocks, pairs)
    design = robust_xy(pairs, offsets, tolerance=1e-4)
    assert design.lower_bound == pytest.approx(reference, rel=2e-4)


def test_singletons_are_convex_so_the_gap_closes():
    pairs, offsets, _ = singleton_instance(5)
    differences = (pairs[:, None] - pairs)[~np.eye(len(pairs), dtype=bool)]
    design = robust_xy(pairs, offsets, tolerance=1e-3)
    assert design.gap <= 1e-3
    assert design.value == pytest.approx(xy_optimal(differences, pairs).value, rel=2e-3)


def test_only_the_given_arms_are_compared_but_all_may_be_pulled():
    pairs = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, -5.0]])
    offsets = np.arange(4)
    design = robust_xy(pairs, offsets, arms=[0, 1])
    # it measures (e₁ − e₂)ᵀθ five times as loudly
    np.testing.assert_allclose(design.weights, [0, 0, 1])
    assert design.value == pytest.approx(1 / 25, rel=1e-3)
    assert robust_xy(pairs, offsets).value > 10 * design.value


def test_noise_of_each_pair_enters_through_the_rows():
    direction, scales = np.array([[1.0, -1.0]]), np.array([1.0, 3.0])
    pairs, offsets = np.eye(2), np.arange(3)
    design = robust_xy(pairs, offsets, rows=pairs / scales[:, None], tolerance=1e-6)
    np.testing.assert_allclose(design.weights, [0.25, 0.75], atol=1e-3)
    assert design.value == pytest.approx((np.abs(direction[0]) @ scales) ** 2, rel=1e-5)


def test_robust_xy_designs_do_not_depend_on_the_coordinates():
    pairs, offsets, _ = ragged_instance(8, n_arms=6, dimension=4)
    moved = pairs @ random_map(np.random.default_rng(8), 4)
    first, second = (
        robust_xy(pairs, offsets, tolerance=1e-4),
        robust_xy(moved, offsets, tolerance=1e-4),
    )
    assert second.lower_bound == pytest.approx(first.lower_bound, rel=3e-4)
    assert second.value == pytest.approx(first.value, rel=0.02)


def test_degenerate_instance_puts_all_mass_on_one_pair():
    """Every inner minimum is ±e₃: the best design measures nothing else, and A is singular."""
    design = robust_xy(E12_PAIRS, E12_OFFSETS)
    np.testing.assert_array_equal(design.weights, [0, 0, 1, 0, 0, 0])
    assert design.value == pytest.approx(0.01, rel=1e-3)
    assert design.lower_bound == pytest.approx(0.01, rel=1e-2)
    assert np.linalg.matrix_rank((E12_PAIRS.T * design.weights) @ E12_PAIRS) == 1


def test_design_of_a_problem():
    problem = RobustProblem.from_pairs(E12_PAIRS, np.repeat([0, 1], 3))
    assert robust_xy_design(problem).value == pytest.approx(0.01, rel=1e-3)
    assert robust_xy_design(problem, arms=[0, 1]).value == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([0, 2], "arms reach from 0 to 2, but arms are numbered 0 to 1"),
        ([-1, 0], "arms reach from -1 to 0"),
        ([True, False], "arms has type bool: give the numbers of arms"),
    ],
)
def test_what_is_no_arm_is_refused(arms, message):
    with pytest.raises(InputError, match=message):
        robust_xy(E12_PAIRS, E12_OFFSETS, arms=arms)


def test_one_candidate_is_refused():
    with pytest.raises(InputError, match="at least two"):
        robust_xy(E12_PAIRS, E12_OFFSETS, arms=[1])
