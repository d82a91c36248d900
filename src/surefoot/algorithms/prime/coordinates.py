"""PRIME's coordinates: answers depend neither on the units of features nor on scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.whitening import whiten_exactly


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Pairs and what their pulls measure, mapped so that the mean of r rᵀ is the identity.

    Attributes:
        pairs: (n_pairs, dimension) the points that are compared.
        rows: (n_pairs, dimension) pairs divided by their noise scales, as measured.
        scales: (n_pairs,) those scales.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        sizes: (n_pairs,) lengths of the pairs.
    """

    pairs: Array
    rows: Array
    scales: Array
    offsets: IntArray
    sizes: Array

    @property
    def dimension(self) -> int:
        return int(self.pairs.shape[1])


class Known(NamedTuple):
    """What past data say, in these coordinates.

    Attributes:
        theta: (dimension,) the estimate.
        pairs: (n_pairs, any) pairs where distance is the standard deviation of an estimated gap.
    """

    theta: Array
    pairs: Array


def coordinates_for(pairs: Array, scales: Array, offsets: IntArray) -> Coordinates:
    """The coordinates of these pairs, measured with noise of these scales."""
    points, measured = whiten_exactly(pairs, pairs / scales[:, None])
    return Coordinates(points, measured, scales, offsets, np.linalg.norm(points, axis=1))
