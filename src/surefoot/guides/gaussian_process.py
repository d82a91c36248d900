"""A Gaussian process on the parameters of the pairs: for smooth responses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.guides.base import Guess, Seen
from surefoot.guides.regressor import Regressor, standardised
from surefoot.problem.problem import RobustProblem

MOST = 400  # pairs that it is fitted to: those pulled most
MOST_FOR_LENGTHS = 120  # of these, for lengths and size: their likelihood is asked for many times


class GaussianProcess(Regressor):
    """Matérn kernel with a length for each number, another kernel for categories, and each pair's
    own noise level.
    """

    name = "gaussian-process"

    def __init__(self) -> None:
        super().__init__(None)

    def guess(self, seen: Seen) -> Guess:
        (inputs, n_numbers), pulled = _inputs(seen.problem), seen.pulled
        used = pulled[np.argsort(-seen.counts[pulled], kind="stable")[:MOST]]
        centre, scale = float(seen.means[used].mean()), float(seen.means[used].std()) or 1.0
        errors = seen.variances[used] / seen.counts[used] / scale**2
        kernel = _kernel(n_numbers, inputs.shape[1] - n_numbers)
        process = _fitted(kernel, inputs[used], (seen.means[used] - centre) / scale, errors)
        means, deviations = process.predict(inputs, return_std=True)
        return Guess(centre + scale * means, scale * deviations)


def _inputs(problem: RobustProblem) -> tuple[Array, int]:
    """Return the parameters that vary, standardised numbers before the codes of categories, and how
    many of them are numbers.
    """
    numeric = problem.coding.numeric
    numbers = standardised(problem.parameters[:, numeric])
    codes = np.delete(problem.parameters, numeric, axis=1)
    codes = codes[:, np.ptp(codes, axis=0) > 0]
    return np.column_stack([numbers, codes]), numbers.shape[1]


def _kernel(n_numbers: int, n_categories: int) -> Any:
    try:
        from surefoot.guides.mixed_kernel import mixed_kernel
    except ImportError:
        raise InputError(
            'the guide "gaussian-process" needs scikit-learn: pip install "surefoot[guides]", '
            'or choose guide="trend"'
        ) from None
    return mixed_kernel(n_numbers, n_categories)


def _fitted(kernel: Any, inputs: Array, targets: Array, errors: Array) -> Any:
    """Return a process whose lengths and size maximise the marginal likelihood."""
    from sklearn.gaussian_process import GaussianProcessRegressor

    some = np.arange(0, len(inputs), max(1, -(-len(inputs) // MOST_FOR_LENGTHS)))
    start = GaussianProcessRegressor(kernel, alpha=errors[some] + 1e-8, optimizer=None)
    start.fit(inputs[some], targets[some])

    def loss(theta: Array) -> tuple[float, Array]:
        value, gradient = start.log_marginal_likelihood(theta, eval_gradient=True)
        return -value, -gradient

    best = optimize.minimize(loss, kernel.theta, jac=True, bounds=kernel.bounds, method="L-BFGS-B")
    final = GaussianProcessRegressor(
        kernel.clone_with_theta(best.x), alpha=errors + 1e-8, optimizer=None
    )
    return final.fit(inputs, targets)
