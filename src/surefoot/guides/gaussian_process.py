"""A Gaussian process on the parameters of the pairs: for smooth responses."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.guides.base import Guess, Seen
from surefoot.guides.regressor import Regressor, standardised

MOST = 400  # pairs that it is fitted to: those pulled most
MOST_FOR_LENGTHS = 120  # of these, for lengths and size: their likelihood is asked for many times


class GaussianProcess(Regressor):
    """Matérn kernel with a length for each parameter, and each pair's own noise level."""

    name = "gaussian-process"

    def __init__(self) -> None:
        super().__init__(None)

    def guess(self, seen: Seen) -> Guess:
        inputs, pulled = standardised(seen.problem.parameters), seen.pulled
        used = pulled[np.argsort(-seen.counts[pulled], kind="stable")[:MOST]]
        centre, scale = float(seen.means[used].mean()), float(seen.means[used].std()) or 1.0
        errors = seen.variances[used] / seen.counts[used] / scale**2
        process = _fitted(inputs[used], (seen.means[used] - centre) / scale, errors)
        means, deviations = process.predict(inputs, return_std=True)
        return Guess(centre + scale * means, scale * deviations)


def _fitted(inputs: Array, targets: Array, errors: Array) -> Any:
    """A process whose lengths and size maximise the marginal likelihood."""
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern
    except ImportError:
        raise InputError(
            'the guide "gaussian-process" needs scikit-learn: pip install "surefoot[guides]", '
            'or choose guide="trend"'
        ) from None
    lengths = np.ones(inputs.shape[1])
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(lengths, (0.1, 100.0), nu=2.5)
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
