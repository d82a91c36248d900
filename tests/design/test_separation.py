"""Exact and paper designs against programmes and every choice, and distances to alternatives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design import exact_separation, paper_separation, squared_distances, xy_optimal
from surefoot.errors import InputError
from tests.design.references import (
    best_arm,
    block_rows,
    exact_criterion,
    exact_programme,
    exact_reference,
    paper_criterion,
    ragged_instance,
    random_map,
    random_weights,
    singleton_instance,
)


def unbounded_ratio(scale):
    """Two arms whose hull separates them easily although no vertex does."""
    pairs = np.array([[0.0, 0.0], [scale, scale], [-1.0, 0.0], [0.0, -1.0]])
    return pairs, np.array([0, 2, 4]), np.ones(2)


@pytest.mark.parametrize("seed", range(6))
def test_exact_agrees_with_a_cone_programme(seed):
    instance = ragged_instance(seed)
    design = exact_separation(*instance)
    assert design.gap <= 1e-4
    reference = exact_reference(instance)
    assert design.lower_bound * (1 - 1e-5) <= reference <= design.value * (1 + 1e-5)


def test_exact_agrees_with_a_cone_programme_under_unequal_noise():
    instance = ragged_instance(11)
    rows = instance[0] / np.random.default_rng(0).uniform(0.5, 3.0, size=len(instance[0]))[:, None]
    design = exact_separation(*instance, rows=rows)
    assert design.value == pytest.approx(exact_reference(instance, rows), rel=2e-4)
    assert design.value == pytest.approx(exact_criterion(instance, design.weights, rows), rel=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_bounds_hold_for_every_design_and_exact_is_below_the_paper_s(seed):
    generator = np.random.default_rng(seed)
    instance = ragged_instance(seed, size=generator.choice([0.1, 0.5, 1.0]))
    if np.linalg.matrix_rank(instance[0]) < 3:
        return
    exact, paper = exact_separation(*instance), paper_separation(*instance)
    assert exact.gap <= 1e-4
    assert exact.lower_bound <= paper.value
    assert paper.lower_bound <= paper.value
    for _ in range(10):
        weights = random_weights(generator, len(instance[0]))
        assert exact_criterion(instance, weights) >= exact.lower_bound * (1 - 1e-9)
        assert paper_criterion(instance, weights) >= paper.lower_bound * (1 - 1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_no_alternative_is_nearer_than_the_value_says(seed):
    """Whatever θ' makes another arm best, the information of n = value pulls tells it from θ: ‖θ −
    θ'‖² ≥ 1.
    """
    pairs, offsets, theta = ragged_instance(seed, dimension=2)
    if np.linalg.matrix_rank(pairs) < 2:
        return
    design = exact_separation(pairs, offsets, theta)
    information = (pairs.T * design.weights) @ pairs
    best = best_arm(pairs, offsets, theta)
    others = theta + 3 * np.random.default_rng(seed).normal(size=(300, 2))
    for other in others:
        if best_arm(pairs, offsets, other) != best:
            assert design.value * (theta - other) @ information @ (theta - other) >= 1 - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_values_are_the_criteria_at_the_weights(seed):
    instance = ragged_instance(seed, n_arms=7, dimension=4)
    exact, paper = exact_separation(*instance), paper_separation(*instance)
    assert exact.value == pytest.approx(exact_criterion(instance, exact.weights), rel=1e-6)
    assert paper.value == pytest.approx(paper_criterion(instance, paper.weights), rel=1e-6)
    assert paper.value <= paper_criterion(instance, exact.weights + 1e-15) * (1 + 1e-6)


@pytest.mark.parametrize("n_arms", [2, 3, 10])
def test_orthogonal_arms_have_the_known_time(n_arms):
    """A Gaussian bandit with one arm ahead by Δ and the others equal: (1 + √(K − 1))²/Δ²."""
    theta = np.zeros(n_arms)
    theta[0] = 0.5
    design = exact_separation(np.eye(n_arms), np.arange(n_arms + 1), theta, tolerance=1e-7)
    root = np.sqrt(n_arms - 1)
    assert design.value == pytest.approx((1 + root) ** 2 / 0.25, rel=1e-6)
    assert design.weights[0] == pytest.approx(1 / (1 + root), rel=1e-3)
    np.testing.assert_allclose(design.weights[1:], 1 / (root * (1 + root)), rtol=1e-3)


def test_two_arms_need_only_their_difference():
    """Elfving's theorem again: (Σ|v_i|)²/(vᵀθ)² for orthogonal pairs."""
    pairs, theta = (
        np.vstack([[2.0, 1.0, 0.0], [0.0, 2.0, 2.0], np.eye(3)]),
        np.array([1.0, 0.1, 0.1]),
    )
    design = exact_separation(
        pairs,
        np.arange(6),
        theta,
        leader=0,
        rivals=[1],
        rows=np.vstack([np.zeros((2, 3)), np.eye(3)]),
    )
    direction = pairs[0] - pairs[1]
    assert design.value == pytest.approx(
        np.abs(direction).sum() ** 2 / (direction @ theta) ** 2, rel=1e-4
    )
    np.testing.assert_allclose(
        design.weights[2:], np.abs(direction) / np.abs(direction).sum(), atol=1e-2
    )


@pytest.mark.parametrize("seed", range(4))
def test_singletons_are_the_standard_linear_bandit(seed):
    pairs, offsets, theta = singleton_instance(seed)
    best = best_arm(pairs, offsets, theta)
    directions = np.delete(pairs[best] - pairs, best, axis=0)
    standard = xy_optimal(directions / (directions @ theta)[:, None], pairs, tolerance=1e-5)
    exact, paper = exact_separation(pairs, offsets, theta), paper_separation(pairs, offsets, theta)
    assert exact.value == pytest.approx(standard.value, rel=2e-4)
    assert paper.value == pytest.approx(standard.value, rel=2e-4)
    assert paper.gap <= 2e-4


@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])
def test_exact_can_be_any_factor_below_the_paper_s(scale):
    exact, paper = (
        exact_separation(*unbounded_ratio(scale)),
        paper_separation(*unbounded_ratio(scale)),
    )
    assert exact.value == pytest.approx(1 / (4 * scale**2), rel=1e-4)
    assert exact.weights.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert paper.value == pytest.approx(1.0, rel=0.15)
    generator = np.random.default_rng(0)
    lowest = min(
        paper_criterion(unbounded_ratio(scale), random_weights(generator, 4)) for _ in range(300)
    )
    assert lowest >= 1.0


@pytest.mark.parametrize("seed", range(4))
def test_does_not_depend_on_the_coordinates(seed):
    pairs, offsets, theta = ragged_instance(seed, n_arms=6, dimension=4)
    change = random_map(np.random.default_rng(seed), 4)
    moved = (pairs @ change, offsets, np.linalg.solve(change, theta))
    assert exact_separation(*moved).value == pytest.approx(
        exact_separation(pairs, offsets, theta).value, rel=2e-4
    )


def test_rivals_limit_the_comparison():
    pairs, offsets, theta = ragged_instance(3)
    leader = best_arm(pairs, offsets, theta)
    rivals = [arm for arm in range(5) if arm != leader][:2]
    blocks = [
        (rows, rows @ theta)
        for rival, rows in block_rows(pairs, offsets, leader)
        if rival in rivals
    ]
    design = exact_separation(pairs, offsets, theta, rivals=[*rivals, leader])
    assert design.value == pytest.approx(exact_programme(blocks, pairs), rel=2e-4)


def test_pairs_in_a_rival_s_hull_are_left_out():
    """Arm 1 shares pair (1, 1) with the leader, so it can never win there; only pair (2, 0) must be
    told from it.
    """
    pairs = np.array([[1.0, 1.0], [2.0, 0.0], [1.0, 1.0], [0.0, 0.5]])
    offsets, theta = np.array([0, 2, 4]), np.array([1.0, 0.2])
    rows = pairs[1] - pairs[2:]
    design = exact_separation(pairs, offsets, theta)
    assert design.value == pytest.approx(exact_programme([(rows, rows @ theta)], pairs), rel=2e-4)


def test_a_rival_that_can_never_win_needs_no_samples():
    pairs, offsets = np.array([[0.0], [-1.0], [1.0]]), np.array([0, 1, 3])
    design = exact_separation(pairs, offsets, np.array([1.0]))
    assert design.value == design.lower_bound == design.gap == 0.0


def test_many_pairs_to_five_percent():
    generator = np.random.default_rng(0)
    arms = generator.normal(size=(4_000, 1, 8))
    pairs = (
        arms / np.linalg.norm(arms, axis=2, keepdims=True)
        - 0.1 * generator.normal(size=(4_000, 5, 8))
    ).reshape(-1, 8)
    offsets, theta = np.arange(0, 20_001, 5), generator.normal(size=8)
    leader = best_arm(pairs, offsets, theta)
    design = exact_separation(pairs, offsets, theta, leader, tolerance=0.05)
    assert design.gap <= 0.05
    assert design.weights.sum() == pytest.approx(1.0)


def test_a_wide_hull_of_box_corners():
    """2⁷ perturbations per arm: hulls with far more corners than dimensions."""
    corners = np.array(np.meshgrid(*[[-0.1, 0.1]] * 7)).reshape(7, -1).T
    arms = np.random.default_rng(4).normal(size=(5, 7))
    pairs = (arms[:, None] + corners).reshape(-1, 7)
    instance = (pairs, np.arange(0, 641, 128), np.ones(7))
    design = exact_separation(*instance, tolerance=1e-3)
    assert design.gap <= 1e-3
    assert design.value == pytest.approx(
        exact_criterion(instance, design.weights + 1e-13), rel=1e-4
    )


def test_ties_and_wrong_leaders_are_named():
    pairs, offsets = np.eye(3), np.arange(4)
    with pytest.raises(InputError, match="arm 1 is at least as good as arm 0"):
        exact_separation(pairs, offsets, np.array([1.0, 1.0, 0.0]))
    with pytest.raises(InputError, match="arm 0 is at least as good as arm 2"):
        paper_separation(pairs, offsets, np.array([1.0, 0.0, 0.5]), leader=2)


def test_bad_arguments_are_refused():
    pairs, offsets, theta = np.eye(3), np.arange(4), np.array([1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="no rival"):
        exact_separation(pairs, offsets, theta, rivals=[0])
    with pytest.raises(InputError, match="rivals"):
        exact_separation(pairs, offsets, theta, rivals=[3])
    with pytest.raises(InputError, match="leader"):
        exact_separation(pairs, offsets, theta, leader=-1)
    with pytest.raises(InputError, match="theta"):
        exact_separation(pairs, offsets, np.ones(2))
    with pytest.raises(InputError, match="rows"):
        exact_separation(pairs, offsets, theta, rows=np.eye(2))


def test_a_lead_counts_like_better_means_of_the_leader():
    """In coordinates of their own, a lead is the same as means that are that much higher."""
    offsets, means = np.array([0, 2, 4, 6]), np.array([1.0, 1.2, 0.7, 0.9, 0.5, 2.0])
    raised = means + np.array([0.3, 0.3, 0, 0, 0, 0])
    eased = exact_separation(np.eye(6), offsets, means, 0, lead=0.3)
    assert eased.value == pytest.approx(exact_separation(np.eye(6), offsets, raised, 0).value)
    assert eased.value < exact_separation(np.eye(6), offsets, means, 0).value


def global_optimum(instance):
    """Every choice of one pair for each block is convex; the best of all choices is the paper's
    H_R.
    """
    pairs, offsets, theta = instance
    candidates = []
    for _, rows in block_rows(pairs, offsets, best_arm(*instance)):
        gaps = rows @ theta
        candidates.append((rows / gaps[:, None])[gaps > 0])
    choices = itertools.product(*candidates)
    return min(
        xy_optimal(np.array(choice), pairs, tolerance=1e-4).lower_bound for choice in choices
    )


@pytest.mark.parametrize(
    ("seed", "dimension"), [*zip(range(6), [2] * 6, strict=True), (135, 3), (179, 3)]
)
def test_reaches_the_best_of_all_choices(seed, dimension):
    """On the last two instances the relaxation's design alone leads to a local optimum, 9 and 44
    per cent worse.
    """
    instance = ragged_instance(seed, n_arms=3, dimension=dimension, most=3, size=1.0)
    best = global_optimum(instance)
    design = paper_separation(*instance)
    assert best <= design.value * (1 + 1e-9)
    assert design.value <= 1.001 * best


@pytest.mark.parametrize("seed", range(8))
def test_never_worse_than_the_relaxation_s_design(seed):
    instance = ragged_instance(seed, n_arms=8, dimension=4, size=1.0)
    start = exact_separation(*instance)
    weights = 0.999 * start.weights + 0.001 / len(instance[0])
    assert paper_separation(*instance).value <= 1.01 * paper_criterion(instance, weights)


# Distances to the alternatives.


@pytest.mark.parametrize("seed", range(6))
def test_they_are_the_inverse_of_the_criterion_of_the_design(seed: int) -> None:
    pairs, offsets, theta = instance = ragged_instance(seed)
    weights = random_weights(np.random.default_rng(seed), len(pairs))
    leader = int(np.argmax(np.minimum.reduceat(pairs @ theta, offsets[:-1])))
    seen = (pairs.T * weights) @ pairs
    found = squared_distances(pairs, offsets, pairs @ theta, seen, leader)
    assert found[leader] == np.inf
    assert 1 / found.min() == pytest.approx(exact_criterion(instance, weights), rel=1e-6)
    best = exact_separation(*instance)
    seen = (pairs.T * best.weights) @ pairs
    found = squared_distances(pairs, offsets, pairs @ theta, seen, leader)
    assert 1 / found.min() == pytest.approx(best.value, rel=1e-6)


def test_singular_information_and_better_arms_have_no_distance() -> None:
    offsets, means = np.array([0, 1, 2]), np.array([1.0, 2.0])
    nothing = np.diag([1.0, 0.0])
    assert squared_distances(np.eye(2), offsets, means, nothing, 1).tolist() == [0.0, np.inf]
    assert squared_distances(np.eye(2), offsets, means, np.eye(2), 0).tolist() == [np.inf, 0.0]
