"""Any regressor of scikit-learn's kind as a guide, on the parameters of the pairs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.guides.base import Guess, Guide, Seen
from surefoot.problem.problem import RobustProblem

PER_PARAMETER = 10  # pairs that a first fit needs


class Regressor(Guide):
    """A model with `fit(X, y)` and `predict(X)`; it is copied before every fit.

    Where it can, it takes weights and gives standard deviations; else its own residuals say how far
    it may be off.
    """

    name = "regressor"

    def __init__(self, model: Any) -> None:
        self.model = model

    def guess(self, seen: Seen) -> Guess:
        from sklearn.base import clone

        inputs, pulled = standardised(_columns(seen.problem)), seen.pulled
        model = clone(self.model)
        weighted = "sample_weight" in inspect.signature(model.fit).parameters
        options = {"sample_weight": seen.errors.min() / seen.errors} if weighted else {}
        model.fit(inputs[pulled], seen.means[pulled], **options)
        if "return_std" in inspect.signature(model.predict).parameters:
            means, deviations = model.predict(inputs, return_std=True)
            return Guess(means, deviations)
        means = np.asarray(model.predict(inputs), dtype=np.float64)
        off = float(np.sqrt(((means[pulled] - seen.means[pulled]) ** 2 + seen.errors).mean()))
        return Guess(means, np.full(len(means), off))

    def first_pairs(self, problem: RobustProblem) -> IntArray:
        columns = len(problem.coding.expanded_names)
        wanted = min(PER_PARAMETER * columns + problem.n_arms // 8, problem.n_pairs)
        return np.unique(np.linspace(0, problem.n_pairs - 1, wanted).round().astype(np.int64))


def _columns(problem: RobustProblem) -> Array:
    """Return (n_pairs, n_columns) the parameters as numbers, one column for each value of a
    category."""
    return problem.coding.expanded(problem.parameters)


def standardised(parameters: Array) -> Array:
    """Return (n_pairs, n_varying) the parameters that vary, each with mean 0 and deviation 1."""
    spread = parameters.std(axis=0)
    varying = spread > 0
    centred = parameters[:, varying] - parameters[:, varying].mean(axis=0)
    return np.asarray(centred / spread[varying])
