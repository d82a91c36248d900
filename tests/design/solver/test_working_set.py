import numpy as np
import pytest

from surefoot.design.solver.families import Directions
from surefoot.design.solver.working_set import extreme_rows, solve_certified


def test_a_working_set_reaches_the_answer_of_the_whole_problem(monkeypatch):
    generator = np.random.default_rng(0)
    rows, directions = generator.normal(size=(140, 5)), generator.normal(size=(300, 5))
    whole = solve_certified(rows, Directions(directions), 1e-4)
    monkeypatch.setattr("surefoot.design.solver.working_set.ALL_ATOMS", 10)
    monkeypatch.setattr("surefoot.design.solver.working_set.FIRST_BLOCKS", 1)
    grown = solve_certified(rows, Directions(directions), 1e-4)
    assert grown.rounds > whole.rounds
    assert grown.value <= grown.bound * (1 + 1e-4)
    assert grown.value == pytest.approx(whole.value, rel=2e-4)


def test_extreme_rows_span_the_space():
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(1_000, 6))
    assert np.linalg.matrix_rank(rows[extreme_rows(rows)]) == 6
    flat = np.hstack([100 * rows[:, :5], np.zeros((1_000, 1))])
    flat[3] = [0, 0, 0, 0, 0, 1]
    assert 3 in extreme_rows(flat)
