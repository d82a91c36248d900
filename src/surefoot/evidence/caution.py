"""What earlier batches say about the shape of the compared differences.

It is used only to lower a statistic, so it may come from any data: the guarantee for normal
differences is kept, and skewed ones are believed less.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from surefoot.arrays import Array, IntArray


class Compared(Protocol):
    """Whose contrasts: some pairs of a challenger against columns: pairs of other arms, or arms."""

    @property
    def challenger(self) -> int: ...

    @property
    def places(self) -> IntArray: ...

    @property
    def columns(self) -> IntArray: ...


CLEAR = 2.0  # a skewness below this many standard errors of itself may be chance


class Moments(NamedTuple):
    """Sums from which the shape of contrasts follows, as arrays of one shape.

    Attributes:
        freedom: of the sums of squares.
        squares: about the batches' means, as those of single pulls.
        known: batches by which the third cumulant is known.
        cubes: likewise.
    """

    freedom: Array
    squares: Array
    known: Array
    cubes: Array


class Shapes:
    """Second and third moments of each challenger's contrasts, from all batches so far.

    They are those of single pulls: the mean of q pulls has a variance of 1/q and a third cumulant
    of 1/q² of theirs. The moments are pooled, not the phases' own skewnesses: a few values hide
    what is rare, and dividing by their own spread hides it again.
    """

    def __init__(self, sizes: IntArray, n_columns: int) -> None:
        """Begin with nothing; `sizes` says how many pairs each arm has."""
        self._sizes, self._n_columns = sizes, n_columns
        self._moments: dict[int, Moments] = {}
        self._falls: dict[int, Array] = {}  # how far a contrast of single pulls has fallen

    def count(self, where: Compared, values: Array, layout: Array) -> None:
        """Count a phase's contrasts.

        Args:
            where: whose contrasts they are.
            values: (n_batches, n_own, n_tested) contrasts.
            layout: (n_own, n_tested) variances of batches in those of single pulls; infinite where
                nothing is measured.
        """
        m, shape = len(values), (self._sizes[where.challenger], self._n_columns)
        if where.challenger not in self._moments:
            self._moments[where.challenger] = Moments(*np.zeros((4, *shape)))
            self._falls[where.challenger] = np.zeros(shape)
        centred = values - values.mean(axis=0)
        squares, cubes = (centred**2).sum(axis=0), (centred**3).sum(axis=0)
        unbiased = m * m / ((m - 1) * max(m - 2, 1))
        cells = np.ix_(where.places, where.columns)
        measured = np.isfinite(layout)
        # cumulants of phases are weighed by how well each is known
        gains = (m - 1, squares / layout, m * layout, unbiased * cubes / layout)
        for row, gain in zip(self._moments[where.challenger], gains, strict=True):
            row[cells] += np.where(measured, gain, 0.0)
        falls = self._falls[where.challenger]
        falls[cells] = np.maximum(falls[cells], -centred.min(axis=0) / layout)

    def seen(self, challenger: int, cells: tuple[Any, ...]) -> tuple[Moments, Array]:
        """What was counted there, and the farthest that a contrast of single pulls has fallen."""
        moments = self._moments[challenger]
        return Moments(*(row[cells] for row in moments)), self._falls[challenger][cells]

    def skewness(self, challenger: int, clear: float = CLEAR) -> Array:
        """(n_own, n_columns) the skewness of single pulls' contrasts; 0 where nothing is clear."""
        if challenger not in self._moments:
            return np.zeros((self._sizes[challenger], self._n_columns))
        return skewness(self._moments[challenger], clear)


def deviation(moments: Moments) -> Array:
    return np.asarray(np.sqrt(moments.squares / np.maximum(moments.freedom, 1)))


def skewness(moments: Moments, clear: float = CLEAR) -> Array:
    """What is left of the skewness beyond what may be chance: that many standard errors of it."""
    spread, known = deviation(moments), moments.known
    size = known * spread**3
    seen = (size > 0) & np.isfinite(size)  # the cube of what is tiny or huge may be neither
    raw = np.divide(moments.cubes, size, out=np.zeros_like(spread), where=seen)
    chance = clear * np.sqrt(6 / np.maximum(known, 1e-300))
    return np.asarray(np.sign(raw) * np.maximum(np.abs(raw) - chance, 0.0))
