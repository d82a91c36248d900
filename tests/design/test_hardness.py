import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.hardness import (
    _tie_divergence,
    binary_divergence,
    complexity,
    likelihood_ratio,
)
from surefoot.errors import InputError
from surefoot.experiments.instances import random_robust
from surefoot.problem.problem import RobustProblem
from tests.design.references import (
    block_rows,
    exact_reference,
    paper_criterion,
    ragged_instance,
    random_weights,
)

DELTA = 0.05


def ragged_problem(seed):
    pairs, offsets, theta = ragged_instance(seed)
    return RobustProblem.from_pairs(pairs, np.repeat(np.arange(5), np.diff(offsets))), theta


def orthogonal_problem(n_arms=4):
    return RobustProblem.paper(np.eye(n_arms), [np.zeros((1, n_arms))] * n_arms)


@pytest.mark.parametrize("seed", range(3))
def test_exact_is_bracketed_and_agrees_with_a_cone_programme(seed):
    problem, theta = ragged_problem(seed)
    result = complexity(problem, theta)
    low, high = result.exact_bounds
    assert low <= high == result.exact <= low * (1 + 1e-4)
    assert result.exact == pytest.approx(exact_reference(ragged_instance(seed)), rel=2e-4)
    assert low <= result.paper_bounds[0] * (1 + 1e-3)
    assert result.paper_bounds[0] <= result.paper == result.paper_bounds[1]


@pytest.mark.parametrize("seed", range(3))
def test_paper_is_the_criterion_at_its_allocation(seed):
    problem, theta = ragged_problem(seed)
    result = complexity(problem, theta)
    assert result.paper == pytest.approx(
        paper_criterion(ragged_instance(seed), result.paper_allocation), rel=1e-6
    )
    assert result.exact_bounds[0] <= result.paper <= result.worst_case
    assert result.allocation.sum() == pytest.approx(1.0)


def test_gap_and_best_arm():
    result = complexity(orthogonal_problem(), [0.1, 0.7, 0.0, 0.3])
    assert result.best_arm == 1
    assert result.gap == pytest.approx(0.4)
    assert result.worst_case == pytest.approx(4 * 4 / 0.16)


def test_worst_case_is_twice_what_two_orthogonal_arms_need():
    """Two orthogonal arms: H_R = 4/Δ² is half of 4d/Δ²."""
    result = complexity(orthogonal_problem(2), [0.5, 0.0])
    assert result.paper == pytest.approx(16.0, rel=1e-3)
    assert result.worst_case == pytest.approx(32.0)


def test_bounds_follow_their_formulas():
    problem, theta = ragged_problem(1)
    result = complexity(problem, theta)
    log_pairs = math.log(problem.n_pairs**2 / DELTA)
    assert result.oracle_samples(DELTA) == pytest.approx(2 * log_pairs * result.paper)
    assert not result.hulls_meet
    assert result.lower_bound(DELTA) == pytest.approx(
        2 * 0.95 * math.log(19) * result.exact_bounds[0]
    )
    assert result.lower_bound_paper(DELTA) == pytest.approx(2 * math.log(10) * result.paper)
    assert result.static_bound(DELTA, 0.2) == pytest.approx(
        32 * 3 * 1.2 * log_pairs / result.gap**2
    )
    phases = math.ceil(math.log2(4 / result.gap))
    log_phases = math.log(problem.n_pairs**2 * phases**2 / DELTA**2)
    rounding = 2 * min(problem.n_pairs, 7) / 0.1
    expected = 128 * log_phases * 1.1 * phases * result.paper + phases * (1 + rounding)
    assert result.rage_bound(DELTA, 0.1) == pytest.approx(expected)


def shared_pair(height):
    """The best arm and a rival share their first pair; the best arm is worst at another."""
    pairs = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, height]])
    return RobustProblem.from_pairs(pairs, [0, 0, 1, 1])


def test_a_pair_in_another_arm_s_hull_leaves_the_usual_bound():
    result = complexity(shared_pair(0.0), [1.0, 0.5])
    assert result.hulls_meet
    assert result.lower_bound(DELTA) == pytest.approx(
        2 * binary_divergence(DELTA) * result.exact_bounds[0]
    )
    assert "kl" in result.lower_bound_source
    apart = complexity(RobustProblem.from_pairs(np.eye(2), [0, 1]), [1.0, 0.5])
    assert not apart.hulls_meet
    assert apart.lower_bound_source in apart.to_frame()["source"].tolist()


def test_pairs_of_rivals_in_the_best_arm_s_hull_do_no_harm():
    """0 lies between the best arm's pairs, but neither of these in the rival's hull."""
    pairs = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    assert not complexity(RobustProblem.from_pairs(pairs, [0, 0, 1, 1]), [0.1, -1.0]).hulls_meet


@pytest.mark.filterwarnings("ignore::surefoot.errors.SurefootWarning")  # of merged pairs
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_hulls_meet_where_a_linear_programme_says_so(seed, whole):
    pairs, offsets, theta = ragged_instance(seed, dimension=2, size=1.0)
    pairs = np.round(pairs) if whole else pairs
    arms = np.repeat(np.arange(5), np.diff(offsets))
    try:
        result = complexity(RobustProblem.from_pairs(pairs, arms), theta)
    except InputError:  # a tie, or pairs that are all alike
        return
    own = range(offsets[result.best_arm], offsets[result.best_arm + 1])
    others = [arm for arm in range(5) if arm != result.best_arm]
    inside = any(
        _in_hull(pairs[z], pairs[offsets[arm] : offsets[arm + 1]]) for z in own for arm in others
    )
    assert result.hulls_meet == inside


def _in_hull(point, vertices):
    shares = cp.Variable(len(vertices), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm1(vertices.T @ shares - point)), [cp.sum(shares) == 1])
    return problem.solve(solver=cp.CLARABEL) < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_up_to_the_nearest_tie_the_best_arm_is_the_only_one(seed):
    """What the better bound rests on: at the nearest tie either answer is wrong on one side."""
    pairs, offsets, theta = ragged_instance(seed)
    problem, _ = ragged_problem(seed)
    result = complexity(problem, theta)
    assert not result.hulls_meet
    weights = random_weights(np.random.default_rng(seed), len(pairs))
    tie = _nearest_tie(pairs, offsets, theta, result.best_arm, weights)
    for share in (0.5, 0.9, 0.999):
        before = theta + share * (tie - theta)
        assert problem.best_arm(before) == result.best_arm
        assert problem.robust_gaps(before)[result.best_arm] > 0
    assert problem.best_arm(theta + 1.001 * (tie - theta)) != result.best_arm


def _nearest_tie(pairs, offsets, theta, leader, weights):
    root = np.sqrt(weights)[:, None] * pairs
    ties = []
    for _, rows in block_rows(pairs, offsets, leader):
        moved = cp.Variable(len(theta))
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(root @ moved)), [rows @ (theta - moved) <= 0]
        )
        ties.append((problem.solve(solver=cp.CLARABEL), theta - moved.value))
    return min(ties, key=lambda tie: tie[0])[1]


@given(st.floats(1e-6, 0.499), st.floats(0, 1), st.floats(1e-9, 1), st.floats(1e-9, 1))
def test_no_two_answers_with_these_probabilities_are_closer(delta, error, stays, goes):
    """At θ right with 1 − δ or more; at the tie either answer with δ or less."""
    p, q = delta * error, (delta * stays, delta * goes)
    divergence = (1 - p) * math.log((1 - p) / q[0]) + (p * math.log(p / q[1]) if p else 0.0)
    assert divergence >= _tie_divergence(delta) * (1 - 1e-9)
    closest = (1 - delta) * math.log((1 - delta) / delta) + delta * math.log(delta / delta)
    assert closest == pytest.approx(_tie_divergence(delta))
    assert _tie_divergence(delta) > binary_divergence(delta)


def test_a_guess_needs_no_pulls():
    result = complexity(orthogonal_problem(), [1.0, 0.0, 0.0, 0.0])
    assert result.lower_bound(0.5) == result.lower_bound(0.9) == 0
    assert result.lower_bound(0.49) > 0


def test_the_paper_s_constant_exceeds_the_right_one_for_large_delta():
    assert math.log(1 / (2 * 0.15)) < binary_divergence(0.15)
    assert math.log(1 / (2 * 0.16)) > binary_divergence(0.16)


def test_noise_scales_multiply_the_samples():
    problem, theta = ragged_problem(2)
    plain, noisy = complexity(problem, theta), complexity(problem, theta, rows=problem.pairs / 3.0)
    assert noisy.exact == pytest.approx(9 * plain.exact, rel=2e-4)
    assert noisy.worst_case == pytest.approx(9 * plain.worst_case)
    uneven = problem.pairs / np.linspace(1.0, 3.0, problem.n_pairs)[:, None]
    between = complexity(problem, theta, rows=uneven)
    assert plain.exact < between.exact < noisy.exact
    assert between.noise_scale == pytest.approx(3.0)


def test_redundant_features_change_nothing():
    pairs, offsets, theta = ragged_instance(4)
    arm = np.repeat(np.arange(5), np.diff(offsets))
    wide = RobustProblem.from_pairs(np.hstack([pairs, pairs[:, :1] + pairs[:, 1:2]]), arm)
    narrow = complexity(RobustProblem.from_pairs(pairs, arm), theta)
    result = complexity(wide, [*theta, 0.0])
    assert result.dimension == 3
    assert result.exact == pytest.approx(narrow.exact, rel=2e-4)


def test_reads_well():
    result = complexity(orthogonal_problem(), [1.0, 0.0, 0.0, 0.0])
    assert "H*=" in repr(result)
    assert "H_R=" in repr(result)
    frame = result.to_frame()
    assert frame.loc[frame["quantity"] == "exact", "value"].item() == result.exact
    assert frame["source"].str.contains("paper").sum() >= 5


def test_ties_and_single_arms_are_explained():
    with pytest.raises(InputError, match=r"arms \[0, 1\] are equally good"):
        complexity(orthogonal_problem(), [1.0, 1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="single arm"):
        complexity(RobustProblem.paper(np.eye(2)[:1], [np.zeros((1, 2))]), [1.0, 0.0])


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_a_probability_is_needed(delta):
    with pytest.raises(InputError, match="not a probability between 0 and 1"):
        binary_divergence(delta)


def test_the_likelihood_ratio_of_the_best_design_is_half_the_inverse_hardness() -> None:
    problem, theta = random_robust(5, 4, 3)
    found = complexity(problem, theta)
    ratio = likelihood_ratio(problem, theta, 100 * found.allocation, scales=2.0)
    assert ratio == pytest.approx(100 / (2 * 4 * found.exact), rel=1e-6)
    with pytest.raises(InputError, match="one number ≥ 0 for each of the 20 pairs"):
        likelihood_ratio(problem, theta, [1.0])
