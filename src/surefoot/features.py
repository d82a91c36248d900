"""Feature maps: from the parameters of a pair to the vector whose inner product with θ is its mean
reward.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError

FeatureMap = Callable[[Array], Array]


def given(parameters: Array) -> Array:
    """The parameters themselves, as in the paper: reward = (x − y)ᵀθ, without an intercept."""
    return parameters


def linear(parameters: Array) -> Array:
    """An intercept and the parameters, centred and scaled to unit standard deviation over the
    pairs.
    """
    return np.column_stack([np.ones(len(parameters)), _standardised(parameters)])


def quadratic(parameters: Array) -> Array:
    """`linear` with all squares and products of two parameters."""
    scaled = _standardised(parameters)
    first, second = np.triu_indices(scaled.shape[1])
    return np.column_stack([np.ones(len(scaled)), scaled, scaled[:, first] * scaled[:, second]])


def tabular(parameters: Array) -> Array:
    """One basis vector for each distinct pair: no structure is assumed at all."""
    _, label = np.unique(parameters, axis=0, return_inverse=True)
    return np.eye(int(label.max()) + 1)[label.ravel()]


MAPS: dict[str, FeatureMap] = {
    "given": given,
    "linear": linear,
    "quadratic": quadratic,
    "tabular": tabular,
}


def feature_map(choice: str | FeatureMap) -> FeatureMap:
    """The map of that name, or the caller's own function."""
    if callable(choice):
        return choice
    if choice not in MAPS:
        raise InputError(
            f"features={choice!r} is not known: choose {', '.join(map(repr, MAPS))}, "
            f"or give a function"
        )
    return MAPS[choice]


def feature_names(choice: str, parameter_names: list[str], n_features: int) -> list[str]:
    """Readable names for the columns that `feature_map(choice)` makes of the named parameters."""
    if choice == "given":
        return parameter_names
    if choice == "linear":
        return ["1", *parameter_names]
    if choice == "quadratic":
        first, second = np.triu_indices(len(parameter_names))
        products = [
            f"{parameter_names[i]}·{parameter_names[j]}" for i, j in zip(first, second, strict=True)
        ]
        return ["1", *parameter_names, *products]
    return [f"feature {k}" for k in range(n_features)]


def _standardised(parameters: Array) -> Array:
    spread = parameters.std(axis=0)
    return np.asarray((parameters - parameters.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
