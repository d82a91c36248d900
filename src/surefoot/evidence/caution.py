"""What earlier batches say about the shape of the compared differences.

It is used only to lower a statistic, so it may come from any data: the guarantee for normal
differences is kept, and skewed ones are believed less.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.student import Caution


class Compared(Protocol):
    """Whose contrasts: some pairs of a challenger against some pairs of other arms."""

    @property
    def challenger(self) -> int: ...

    @property
    def places(self) -> IntArray: ...

    @property
    def rivals(self) -> IntArray: ...


CLEAR = 2.0  # a skewness below this many standard errors of itself may be chance


class Shapes:
    """Second and third moments of each challenger's contrasts, from all batches so far.

    They are those of single pulls: the mean of q pulls has a variance of 1/q and a third cumulant
    of 1/q² of theirs. The moments are pooled, not the phases' own skewnesses: a few values hide
    what is rare, and dividing by their own spread hides it again.
    """

    def __init__(self, sizes: IntArray) -> None:
        """Begin with nothing; `sizes` says how many pairs each arm has."""
        self._sizes, self._n_pairs = sizes, int(sizes.sum())
        self._moments: dict[int, Array] = {}
        self._falls: dict[int, Array] = {}  # how far a contrast of single pulls has fallen

    def add(self, where: Compared, values: Array, layout: Array) -> Caution:
        """Count a phase's contrasts, and say how careful one has to be with them.

        Args:
            where: whose contrasts they are.
            values: (n_batches, n_own, n_tested) contrasts.
            layout: (n_own, n_tested) variances of batches in those of single pulls.
        """
        m = len(values)
        centred = values - values.mean(axis=0)
        squares, cubes = (centred**2).sum(axis=0), (centred**3).sum(axis=0)
        unbiased = m * m / ((m - 1) * max(m - 2, 1))
        shape = (4, self._sizes[where.challenger], self._n_pairs)
        store = self._moments.setdefault(where.challenger, np.zeros(shape))
        cells = np.ix_(where.places, where.rivals)
        # cumulants of phases are weighed by how well each is known
        gains = (m - 1, squares / layout, m * layout, unbiased * cubes / layout)
        for row, gain in zip(store, gains, strict=True):
            row[cells] += gain
        moments = np.stack([row[cells] for row in store])
        skewness, spread = _skewness(moments) * np.sqrt(layout), _deviation(moments)
        least = np.where(skewness < 0, np.sqrt(layout) * spread, 0.0)
        return Caution(skewness, least, layout * self._fall(where, -centred.min(axis=0) / layout))

    def _fall(self, where: Compared, fallen: Array) -> Array:
        """(n_own, n_tested) the farthest so far, this phase's included."""
        shape = (self._sizes[where.challenger], self._n_pairs)
        falls = self._falls.setdefault(where.challenger, np.zeros(shape))
        cells = np.ix_(where.places, where.rivals)
        falls[cells] = np.maximum(falls[cells], fallen)
        return np.asarray(falls[cells])

    def skewness(self, challenger: int) -> Array:
        """(n_own, n_pairs) the skewness of single pulls' contrasts; 0 where nothing is clear."""
        if challenger not in self._moments:
            return np.zeros((self._sizes[challenger], self._n_pairs))
        return _skewness(self._moments[challenger])


def _deviation(moments: Array) -> Array:
    freedom, squares, _, _ = moments
    return np.asarray(np.sqrt(squares / np.maximum(freedom, 1)))


def _skewness(moments: Array) -> Array:
    """What is left of the skewness beyond what may be chance."""
    _, _, known, cubes = moments
    spread = _deviation(moments)
    seen = (known > 0) & (spread > 0)
    raw = np.divide(cubes, known * spread**3, out=np.zeros_like(cubes), where=seen)
    chance = CLEAR * np.sqrt(6 / np.maximum(known, 1e-300))
    return np.asarray(np.sign(raw) * np.maximum(np.abs(raw) - chance, 0.0))
