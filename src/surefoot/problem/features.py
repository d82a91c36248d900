"""Feature maps: from the parameters of a pair to the vector whose inner product with θ is its mean
reward. Each map knows its image, the names of its columns, and how a file holds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError, said_in_a_line

Function = Callable[[Array], Array]


class FeatureMap(ABC):
    """From (n_pairs, n_parameters) parameters to (n_pairs, n_features) features.

    Attributes:
        kind: its name in calls and files.
    """

    kind: str

    @abstractmethod
    def image(self, parameters: Array) -> Array:
        """Return (n_pairs, n_features) the features of each pair."""

    @abstractmethod
    def names(self, parameters: list[str], n_features: int) -> list[str]:
        """Return a readable name for each feature, from those of the parameters."""

    def width(self, n_pairs: int, n_parameters: int) -> int:
        """Return the number of features at most, so that their memory can be asked for first."""
        return n_parameters + 1

    def settled(self, image: Array) -> FeatureMap:
        """Return the map to keep with a problem, once its image is known."""
        return self

    def to_file(self) -> Any:
        """Return the entry from which `map_from_file` rebuilds the map."""
        return self.kind


class _GivenFeatures(FeatureMap):
    """The parameters themselves, as in the paper: reward = (x − y)ᵀθ, without an intercept."""

    kind = "given"

    def image(self, parameters: Array) -> Array:
        return parameters

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        return parameters


class LinearFeatures(FeatureMap):
    """An intercept and the parameters, centred and scaled to unit standard deviation."""

    kind = "linear"

    def image(self, parameters: Array) -> Array:
        return np.column_stack([np.ones(len(parameters)), _standardised(parameters)])

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        return ["1", *parameters]


class QuadraticFeatures(FeatureMap):
    """`linear` with all squares and products of two parameters."""

    kind = "quadratic"

    def image(self, parameters: Array) -> Array:
        scaled = _standardised(parameters)
        first, second = np.triu_indices(scaled.shape[1])
        return np.column_stack([np.ones(len(scaled)), scaled, scaled[:, first] * scaled[:, second]])

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        products = zip(*np.triu_indices(len(parameters)), strict=True)
        return ["1", *parameters, *(f"{parameters[i]}·{parameters[j]}" for i, j in products)]

    def width(self, n_pairs: int, n_parameters: int) -> int:
        return (n_parameters + 1) * (n_parameters + 2) // 2


class TabularFeatures(FeatureMap):
    """One basis vector for each distinct pair: no structure is assumed at all."""

    kind = "tabular"

    def image(self, parameters: Array) -> Array:
        _, label = np.unique(parameters, axis=0, return_inverse=True)
        return np.eye(int(label.max()) + 1)[label.ravel()]

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        return _numbered(n_features)

    def width(self, n_pairs: int, n_parameters: int) -> int:
        return n_pairs


class _StoredFeatures(FeatureMap):
    """Features by their values alone, as stored for a function of the caller's."""

    kind = "custom"

    def __init__(self, values: Any) -> None:
        self._values = values

    def image(self, parameters: Array) -> Array:
        return self._values  # type: ignore[no-any-return]  # the problem checks them

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        return _numbered(n_features)

    def settled(self, image: Array) -> FeatureMap:
        return _StoredFeatures(image)

    def to_file(self) -> Any:
        return np.asarray(self._values).tolist()


class _CustomFeatures(FeatureMap):
    """A function of the caller's own, which no file can hold."""

    kind = "custom"

    def __init__(self, function: Function) -> None:
        self._function = function

    def image(self, parameters: Array) -> Array:
        try:
            return self._function(parameters)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"the features function failed on {parameters.shape[0]} pairs of "
                f"{parameters.shape[1]} parameters: {said_in_a_line(error)}"
            ) from error

    def names(self, parameters: list[str], n_features: int) -> list[str]:
        return _numbered(n_features)

    def settled(self, image: Array) -> FeatureMap:
        return _StoredFeatures(image)


MAPS: dict[str, FeatureMap] = {
    feature_map.kind: feature_map
    for feature_map in (_GivenFeatures(), LinearFeatures(), QuadraticFeatures(), TabularFeatures())
}


def feature_map(choice: str | Function) -> FeatureMap:
    """Return the map of that name, or one of the caller's own function."""
    if callable(choice):
        return _CustomFeatures(choice)
    if choice not in MAPS:
        raise InputError(
            f"features={choice!r} is not known: choose {', '.join(map(repr, MAPS))}, "
            f"or give a function"
        )
    return MAPS[choice]


def map_from_file(entry: Any) -> FeatureMap:
    """Rebuild a map from its `FeatureMap.to_file`."""
    return feature_map(entry) if isinstance(entry, str) else _StoredFeatures(entry)


def _numbered(n_features: int) -> list[str]:
    return [f"feature {k}" for k in range(n_features)]


def _standardised(parameters: Array) -> Array:
    spread = parameters.std(axis=0)
    return np.asarray((parameters - parameters.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
