import cvxpy as cp
import numpy as np
import pytest

from surefoot.design import g_design, g_optimal
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from tests.design.references import random_map


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


def test_does_not_depend_on_the_coordinates():
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


def test_rows_that_do_not_span_are_refused():
    with pytest.raises(InputError, match="span"):
        g_optimal(np.ones((4, 2)))


def test_design_of_a_problem():
    problem = RobustProblem.paper(np.eye(3), [np.zeros((1, 3))] * 3)
    design = g_design(problem)
    np.testing.assert_allclose(design.weights, 1 / 3, rtol=1e-2)
