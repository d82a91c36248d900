"""A kernel on numbers and categories for the Gaussian process; it needs scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from surefoot.arrays import Array

SIZES, LENGTHS = (1e-2, 1e2), (0.1, 100.0)  # between which the likelihood chooses


def mixed_kernel(n_numbers: int, n_categories: int) -> Any:
    """Return a kernel for rows of so many numbers and categories, each with its own length."""
    kernel = ConstantKernel(1.0, SIZES)
    if n_numbers:
        kernel = kernel * _OnNumbers(n_numbers, np.ones(n_numbers), LENGTHS, nu=2.5)
    if n_categories:
        kernel = kernel * _OnCategories(n_numbers, np.ones(n_categories), LENGTHS)
    return kernel


class _OnNumbers(Matern):  # type: ignore[misc]
    """Matérn's kernel on the first columns."""

    def __init__(
        self,
        columns: int = 1,
        length_scale: Any = 1.0,
        length_scale_bounds: Any = LENGTHS,
        nu: float = 2.5,
    ) -> None:
        super().__init__(length_scale, length_scale_bounds, nu)
        self.columns = columns

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        others = None if Y is None else Y[:, : self.columns]
        return super().__call__(X[:, : self.columns], others, eval_gradient)


class _OnCategories(StationaryKernelMixin, NormalizedKernelMixin, Kernel):  # type: ignore[misc]
    """exp(−Σ 1/length) over the categories in which two rows differ: no value is closer to one than
    to another. A long length says that the category hardly matters.
    """

    def __init__(
        self, first: int = 0, length_scale: Any = 1.0, length_scale_bounds: Any = LENGTHS
    ) -> None:
        self.first, self.length_scale = first, length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self) -> Any:
        lengths = np.atleast_1d(self.length_scale)
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, len(lengths))

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        others = X if Y is None else Y
        distances = [
            (X[:, [column]] != others[:, column]) / length
            for column, length in enumerate(np.atleast_1d(self.length_scale), self.first)
        ]
        alike = np.exp(-np.sum(distances, axis=0))
        if not eval_gradient:
            return alike
        return alike, np.stack([alike * distance for distance in distances], axis=-1)
