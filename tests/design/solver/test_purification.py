import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.solver.working_set import _purified


def whitened(rows, weights):
    root = np.linalg.cholesky((rows.T * weights) @ rows)
    return np.linalg.solve(root, rows.T).T


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 40))
def test_keeps_information_and_sum_on_few_rows(seed, dimension, extra):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(dimension + extra, dimension))
    weights = generator.dirichlet(np.full(len(rows), 0.3)) + 1e-6
    fewer = _purified(whitened(rows, weights), weights)
    assert (fewer >= 0).all()
    assert fewer.sum() == pytest.approx(weights.sum(), rel=1e-6)
    assert np.count_nonzero(fewer) <= dimension * (dimension + 1) // 2 + 1
    np.testing.assert_allclose(
        (rows.T * fewer) @ rows,
        (rows.T * weights) @ rows,
        atol=1e-6 * np.trace((rows.T * weights) @ rows),
    )


def test_independent_rows_are_left_alone():
    weights = np.array([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(_purified(whitened(np.eye(3), weights), weights), weights)


def test_many_rows_are_left_alone(monkeypatch):
    monkeypatch.setattr("surefoot.design.solver.working_set.MOST_ROWS", 3)
    weights = np.full(4, 0.25)
    assert _purified(np.ones((4, 1)), weights) is weights
