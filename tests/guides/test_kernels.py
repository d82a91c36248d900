"""Kernels for numbers and categories beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.guides.mixed_kernel import _OnCategories, mixed_kernel

ROWS = np.array([[0.1, 0.0, 1.0], [0.1, 1.0, 1.0], [-0.7, 2.0, 1.0], [0.1, 0.0, 0.0]])


def test_values_of_a_category_are_equally_far_from_each_other() -> None:
    alike = _OnCategories(1, np.array([2.0, 4.0]))(ROWS)
    assert np.diag(alike).tolist() == [1, 1, 1, 1]
    assert alike[0, 1] == alike[0, 2] == alike[1, 2] == pytest.approx(np.exp(-1 / 2))
    assert alike[0, 3] == pytest.approx(np.exp(-1 / 4))
    assert alike[1, 3] == pytest.approx(np.exp(-1 / 2 - 1 / 4))


@pytest.mark.parametrize(("numbers", "categories"), [(1, 2), (3, 0), (0, 3)])
def test_gradients_are_right_and_the_kernel_is_positive(numbers: int, categories: int) -> None:
    kernel = mixed_kernel(numbers, categories)
    theta = kernel.theta + 0.3 * np.arange(len(kernel.theta))
    value, gradient = kernel.clone_with_theta(theta)(ROWS, eval_gradient=True)
    assert (np.linalg.eigvalsh(value) > -1e-12).all()
    for k in range(len(theta)):
        step = 1e-6 * np.eye(len(theta))[k]
        above, below = (kernel.clone_with_theta(theta + s)(ROWS) for s in (step, -step))
        assert gradient[:, :, k] == pytest.approx((above - below) / 2e-6, abs=1e-7)


def test_new_rows_are_compared_with_old_ones() -> None:
    kernel = mixed_kernel(1, 2)
    assert kernel(ROWS[:1], ROWS) == pytest.approx(kernel(ROWS)[:1])
