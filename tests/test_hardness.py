import math

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.hardness import binary_divergence, complexity
from surefoot.problem import RobustProblem
from tests.design.references import exact_reference, paper_criterion, ragged_instance

DELTA = 0.05


def ragged_problem(seed):
    pairs, offsets, theta = ragged_instance(seed)
    return RobustProblem.from_pairs(pairs, np.repeat(np.arange(5), np.diff(offsets))), theta


def orthogonal_problem(n_arms=4):
    return RobustProblem(np.eye(n_arms), [np.zeros((1, n_arms))] * n_arms)


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
    assert result.lower_bound(DELTA) == pytest.approx(
        2 * 0.9 * math.log(19) * result.exact_bounds[0]
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
        complexity(RobustProblem(np.eye(2)[:1], [np.zeros((1, 2))]), [1.0, 0.0])


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_a_probability_is_needed(delta):
    with pytest.raises(InputError, match="not a probability between 0 and 1"):
        binary_divergence(delta)
