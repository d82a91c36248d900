import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design import g_optimal, robust_xy, robust_xy_design, xy_optimal
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


def test_does_not_depend_on_the_coordinates():
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
