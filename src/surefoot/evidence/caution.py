"""What earlier batches say about the shape of the compared differences.

It is used only to lower a statistic, so it may come from any data: the guarantee for normal
differences is kept, and skewed ones are believed less.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.student import Caution


class Where(Protocol):
    """Whose contrasts: some pairs of a challenger against some arms."""

    @property
    def challenger(self) -> int: ...

    @property
    def places(self) -> IntArray: ...

    @property
    def arms(self) -> IntArray: ...


CLEAR = 2.0  # a skewness below this many standard errors of itself may be chance


class Shapes:
    """Second and third moments of each challenger's contrasts, from all batches so far."""

    def __init__(self, sizes: IntArray) -> None:
        """Begin with nothing; `sizes` says how many pairs each arm has."""
        self._sizes = sizes
        self._moments: dict[int, Array] = {}

    def add(self, where: Where, values: Array, layout: Array) -> Caution:
        """Count a phase's contrasts, and say how careful one has to be with them.

        Args:
            where: whose contrasts they are.
            values: (n_batches, n_own, n_tested) contrasts.
            layout: (n_own, n_tested) factors by which layouts of phases make variances differ.
        """
        m = len(values)
        centred = values - values.mean(axis=0)
        squares = (centred**2).sum(axis=0)
        spread = np.sqrt(squares / m)
        cubes = np.divide(
            (centred**3).sum(axis=0), spread**3, out=np.zeros_like(spread), where=spread > 0
        )
        unbiased = np.sqrt(m * (m - 1)) / max(m - 2, 1)
        shape = (4, self._sizes[where.challenger], len(self._sizes))
        store = self._moments.setdefault(where.challenger, np.zeros(shape))
        cells = np.ix_(where.places, where.arms)
        for row, gain in zip(store, (m, m - 1, squares / layout, cubes * unbiased), strict=True):
            row[cells] += gain
        count, freedom, pooled, third = (row[cells] for row in store)
        skewness = _beyond_chance(third / count, count)
        return Caution(skewness, np.where(skewness < 0, np.sqrt(layout * pooled / freedom), 0.0))

    def skewness(self, challenger: int) -> Array:
        """(n_own, n_arms) the skewness of a challenger's contrasts; 0 where nothing is clear."""
        if challenger not in self._moments:
            return np.zeros((self._sizes[challenger], len(self._sizes)))
        count, _, _, third = self._moments[challenger]
        return _beyond_chance(third / np.maximum(count, 1), count)


def _beyond_chance(raw: Array, count: Array) -> Array:
    chance = CLEAR * np.sqrt(6 / np.maximum(count, 6))
    return np.asarray(np.sign(raw) * np.maximum(np.abs(raw) - chance, 0.0))
