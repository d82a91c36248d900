import numpy as np
import pytest

from surefoot.design import exact_separation
from surefoot.design.families import Directions
from surefoot.design.sparsity import sparse, value_at
from surefoot.design.working_set import Certified, solve_certified


def test_zeros_cost_no_more_than_the_tolerance():
    generator = np.random.default_rng(1)
    rows, family = generator.normal(size=(100, 4)), Directions(generator.normal(size=(20, 4)))
    found = solve_certified(rows, family, 1e-3)
    cut = sparse(rows, family, found, 1e-3)
    assert np.count_nonzero(cut.weights) < np.count_nonzero(found.weights)
    assert cut.value <= cut.bound * (1 + 1e-3)
    assert cut.value == pytest.approx(value_at(rows, family, cut.weights))


def test_zeros_may_leave_a_singular_design_if_nothing_needs_more():
    rows = np.eye(3)
    found = solve_certified(rows, Directions(np.array([[0.0, 2.0, 0.0]])), 1e-3)
    cut = sparse(rows, Directions(np.array([[0.0, 2.0, 0.0]])), found, 1e-3)
    assert cut.weights.tolist() == [0.0, 1.0, 0.0]
    assert cut.value == pytest.approx(4.0)


def test_rows_along_one_line_are_merged():
    """Five multiples of each unit vector: one of each is enough, whichever dimensions matter."""
    pairs = np.concatenate([np.outer(np.linspace(0.9, 1.0, 5), unit) for unit in np.eye(6)])
    design = exact_separation(pairs, np.arange(0, 31, 5), np.array([1.0, 0.9, 0.1, 0.1, 0.1, 0.1]))
    assert design.gap <= 1e-4
    assert design.support.size <= 7


def test_many_tiny_weights_are_polished_away():
    """Weights spread over copies of a few rows, each too small to matter: the core alone does as well."""
    generator = np.random.default_rng(3)
    core, family = generator.normal(size=(8, 4)), Directions(generator.normal(size=(6, 4)))
    rows = np.vstack([core, generator.normal(size=(60, 4))])
    found = solve_certified(core, family, 1e-4)
    spread = Certified(np.concatenate([0.9994 * found.weights, np.full(60, 1e-5)]), np.inf, found.bound, 1)
    spread.value = value_at(rows, family, spread.weights)
    cut = sparse(rows, family, spread, 1e-3)
    assert np.count_nonzero(cut.weights) <= 8
    assert cut.value <= spread.value * (1 + 1e-3)
