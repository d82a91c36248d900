"""All batches of some comparisons as one sample, and the t statistics that it would give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.evidence.caution import Moments
from surefoot.evidence.student import normal_scores, with_a_fall


class Columns(NamedTuple):
    """Sums over phases, (n_own, n_columns) each: one row for each pair of a challenger.

    Attributes:
        gains: of weighted contrasts, in the deviation of a single pull.
        reaches: by how much a gap of 1 raises `gains`.
        lopsided: by how much a skewness of 1 skews them.
        pulls: in single pulls of both pairs.
        leans: of contrasts, weighed by their degrees of freedom.
    """

    gains: Array
    reaches: Array
    lopsided: Array
    pulls: Array
    leans: Array


class Sample(NamedTuple):
    """All batches of some comparisons.

    Attributes:
        columns: of the tested arms.
        moments: (n_own, n_columns) of their contrasts.
        times: (n_tested,) that clocks went on.
        starts: (n_tested,) where the columns of each tested arm begin.
    """

    columns: Columns
    moments: Moments
    times: Array
    starts: IntArray

    def of_arms(self, values: Array) -> Array:
        """(n_own, n_tested) sums over the columns of each arm."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))

    @property
    def roots(self) -> Array:
        """(n_tested,) of the times; 1 where nothing was gained in no time."""
        return np.sqrt(np.where(self.times > 0, self.times, 1.0))

    @property
    def sizes(self) -> Array:
        """(n_own, n_tested) in single pulls of both pairs, 2 at least."""
        return np.maximum(self.of_arms(self.columns.pulls), 2.0)

    def after_a_fall(self, t: Array, far: Array) -> Array:
        """What would be left of t statistics if one more value had been seen, that far below."""
        sizes = self.sizes
        return with_a_fall(t / np.sqrt(sizes), np.ones_like(sizes), sizes, far)

    def walks(self, t: Array) -> Array:
        """The walks that t statistics of the whole sample make."""
        freedom = np.maximum(self.of_arms(self.moments.freedom), 1)
        return np.asarray(self.roots * normal_scores(t, freedom))
