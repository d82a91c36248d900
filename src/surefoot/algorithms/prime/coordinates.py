"""Coordinates in which PRIME works: answers do not depend on the units of features, nor on how
scales differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Pairs and what pulls of them measure, after the linear map that makes the mean of r rᵀ the
    identity.

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


class Past(NamedTuple):
    """What past data say, in these coordinates.

    Attributes:
        theta: (dimension,) the estimate.
        pairs: (n_pairs, any) pairs where distance is the standard deviation of an estimated gap.
    """

    theta: Array
    pairs: Array


def coordinates_for(pairs: Array, scales: Array, offsets: IntArray) -> Coordinates:
    """Whiten by columns first, so that features of very different size lose no digits, then by
    directions.
    """
    rows = pairs / scales[:, None]
    size = np.linalg.norm(rows, axis=0)
    left, singular, right = np.linalg.svd(rows / size, full_matrices=False)
    transform = (right.T / singular) / size[:, None] * np.sqrt(len(rows))
    points, measured = pairs @ transform, np.ascontiguousarray(left) * np.sqrt(len(rows))
    return Coordinates(points, measured, scales, offsets, np.linalg.norm(points, axis=1))
