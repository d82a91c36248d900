import numpy as np
import pytest

from surefoot.design.families import Directions
from surefoot.design.working_set import extreme_rows, solve_certified, sparse, spectral_whitener, value_at


def test_a_working_set_reaches_the_answer_of_the_whole_problem(monkeypatch):
    generator = np.random.default_rng(0)
    rows, directions = generator.normal(size=(140, 5)), generator.normal(size=(300, 5))
    whole = solve_certified(rows, Directions(directions), 1e-4)
    monkeypatch.setattr("surefoot.design.working_set.ALL_ATOMS", 10)
    monkeypatch.setattr("surefoot.design.working_set.FIRST_BLOCKS", 1)
    grown = solve_certified(rows, Directions(directions), 1e-4)
    assert grown.rounds > whole.rounds
    assert grown.value <= grown.bound * (1 + 1e-4)
    assert grown.value == pytest.approx(whole.value, rel=2e-4)


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


def test_directions_outside_the_range_are_huge():
    whitener = spectral_whitener(np.diag([1.0, 0.0]))
    lengths = ((np.eye(2) @ whitener.T) ** 2).sum(axis=1)
    assert lengths[0] == pytest.approx(1.0)
    assert lengths[1] >= 1e9


def test_extreme_rows_span_the_space():
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(1_000, 6))
    assert np.linalg.matrix_rank(rows[extreme_rows(rows)]) == 6
    flat = np.hstack([100 * rows[:, :5], np.zeros((1_000, 1))])
    flat[3] = [0, 0, 0, 0, 0, 1]
    assert 3 in extreme_rows(flat)
