import numpy as np
import pytest

from surefoot.design.solver.families import Directions
from surefoot.design.solver.working_set import _Certified, _value_at, solve_certified, sparse


def test_zeros_cost_no_more_than_the_tolerance():
    generator = np.random.default_rng(1)
    rows, family = generator.normal(size=(100, 4)), Directions(generator.normal(size=(20, 4)))
    found = solve_certified(rows, family, 1e-3)
    cut = sparse(rows, family, found, 1e-3)
    assert np.count_nonzero(cut.weights) < np.count_nonzero(found.weights)
    assert cut.value <= cut.bound * (1 + 1e-3)
    assert cut.value == pytest.approx(_value_at(rows, family, cut.weights))


def test_zeros_may_leave_a_singular_design_if_nothing_needs_more():
    rows = np.eye(3)
    found = solve_certified(rows, Directions(np.array([[0.0, 2.0, 0.0]])), 1e-3)
    cut = sparse(rows, Directions(np.array([[0.0, 2.0, 0.0]])), found, 1e-3)
    assert cut.weights.tolist() == [0.0, 1.0, 0.0]
    assert cut.value == pytest.approx(4.0)


def test_rows_along_one_line_are_merged():
    """Five multiples of each unit vector, of which only two directions matter much: one or two of
    each are enough.
    """
    generator = np.random.default_rng(5)
    rows = np.concatenate([np.outer(np.linspace(0.95, 1.0, 5), unit) for unit in np.eye(6)])
    weights = generator.dirichlet(np.ones(30))
    family = Directions(np.eye(6))
    found = _Certified(weights, _value_at(rows, family, weights), 1.0, 1)
    cut = sparse(rows, family, found, 1e-6)
    assert np.count_nonzero(cut.weights) <= 7
    assert cut.value <= found.value * (1 + 1e-6)


def test_many_tiny_weights_are_polished_away():
    """Half the weight lies on 20 000 near copies of e₂, each too small to matter: e₁ and e₂ alone
    do as well.
    """
    copies = np.column_stack([np.linspace(-1e-6, 1e-6, 20_000), np.ones(20_000)])
    rows, family = np.vstack([np.eye(2), copies]), Directions(np.ones((1, 2)))
    weights = np.concatenate([[0.5, 1e-3], np.full(20_000, 0.499 / 20_000)])
    found = _Certified(weights, _value_at(rows, family, weights), 4.0 * (1 - 1e-5), 1)
    cut = sparse(rows, family, found, 1e-3)
    assert cut.weights[:2] == pytest.approx([0.5, 0.5], abs=1e-2)
    assert np.count_nonzero(cut.weights) == 2
    assert cut.value <= 4.0 * (1 + 1e-3)
