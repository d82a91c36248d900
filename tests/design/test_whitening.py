import numpy as np
import pytest

from surefoot.design.whitening import (
    cholesky_whitener,
    measured_root,
    spectral_whitener,
    unit_free_root,
    whiten,
    whiten_exactly,
)
from surefoot.errors import InputError


def test_mean_outer_product_becomes_the_identity_and_criteria_stay():
    generator = np.random.default_rng(0)
    pairs = generator.normal(size=(30, 4)) * [1e-5, 1.0, 1e4, 3.0]
    rows = pairs / generator.uniform(0.5, 2.0, size=30)[:, None]
    new_pairs, new_rows = whiten(pairs, rows)
    np.testing.assert_allclose(new_rows.T @ new_rows / 30, np.eye(4), atol=1e-9)
    weights = generator.dirichlet(np.ones(30))
    before = pairs @ np.linalg.solve((rows.T * weights) @ rows, pairs.T)
    after = new_pairs @ np.linalg.solve((new_rows.T * weights) @ new_rows, new_pairs.T)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-6 * np.abs(before).max())


@pytest.mark.parametrize("rows", [np.ones((5, 2)), np.array([[1.0, 0.0], [2.0, 0.0]])])
def test_rows_that_do_not_span_are_refused(rows):
    with pytest.raises(InputError, match="do not span"):
        whiten(rows, rows)


def test_whitener_inverts_and_refuses_singular_matrices():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    whitener = cholesky_whitener(matrix)
    np.testing.assert_allclose(whitener.T @ whitener, np.linalg.inv(matrix))
    assert cholesky_whitener(np.zeros((2, 2))) is None


def test_directions_outside_the_range_are_huge():
    whitener = spectral_whitener(np.diag([1.0, 0.0]))
    lengths = ((np.eye(2) @ whitener.T) ** 2).sum(axis=1)
    assert lengths[0] == pytest.approx(1.0)
    assert lengths[1] >= 1e9


def test_ways_of_full_rank_agree_and_see_what_is_singular():
    rows = np.random.default_rng(3).normal(size=(9, 3)) * [1e-6, 1.0, 1e6]
    information = rows.T @ rows
    root = unit_free_root(information)
    np.testing.assert_allclose(root.T @ information @ root, np.eye(3), atol=1e-6)
    points, measured = whiten_exactly(rows, rows)
    np.testing.assert_allclose(points, measured, atol=1e-8)
    np.testing.assert_allclose(measured.T @ measured / 9, np.eye(3), atol=1e-10)
    flat = rows * [1.0, 1.0, 0.0]
    assert unit_free_root(flat.T @ flat) is None


@pytest.mark.parametrize("small", [1.0, 1e-5, 1e-8, 1e-13, 0.0])
def test_what_a_phase_measures_is_whitened_and_what_it_does_not_is_hidden(small: float) -> None:
    """By either decomposition: directions measured well, hardly, and not at all."""
    generator = np.random.default_rng(2)
    left, right = (
        np.linalg.qr(generator.standard_normal((9, 4)))[0],
        np.linalg.qr(generator.standard_normal((4, 4)))[0],
    )
    singular = np.array([3.0, 2.0, 1.0, small])
    design = (left * singular) @ right.T
    root, hidden = measured_root(design)
    rank = 4 if small > 1e-11 else 3
    assert root.shape == (4, rank)
    assert root.T @ design.T @ design @ root == pytest.approx(
        np.eye(rank), abs=1e-15 / max(small, 1e-10)
    )
    assert np.linalg.norm(design @ hidden) <= 1e-12
    assert hidden.T @ hidden == pytest.approx(np.eye(4 - rank), abs=1e-12)


def test_fewer_pairs_than_dimensions_hide_the_rest() -> None:
    root, hidden = measured_root(np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    assert np.abs(root).max(axis=1) == pytest.approx([0.5, 0.25, 0.0])
    assert np.abs(hidden[:, 0]) == pytest.approx([0.0, 0.0, 1.0])
