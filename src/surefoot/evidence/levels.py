"""The noise of pairs by all their pulls, in a pilot and against other pairs too.

Past levels may not standardise, so no exact score is divided by them. They only say where a
comparison was too quiet to be believed, and lower what is made of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array
from surefoot.statistics import Counts, Outcome


class Levels(NamedTuple):
    """Pulls of each pair as one sample, whatever phases they came in.

    Attributes:
        counts: (n_pairs,) pulls so far.
        means: (n_pairs,) of their rewards; 0 where there are none.
        scatter: (n_pairs,) squared deviations from these means.
    """

    counts: Counts
    means: Array
    scatter: Array

    @classmethod
    def unknown(cls, n_pairs: int) -> Levels:
        """Before any pull."""
        return cls(np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs), np.zeros(n_pairs))

    def after(self, outcome: Outcome) -> Levels:
        """The same with one more phase: what its means are off by counts as well."""
        counts = self.counts + outcome.counts
        total = np.maximum(counts, 1)
        off = outcome.sums / np.maximum(outcome.counts, 1) - self.means
        means = self.means + off * outcome.counts / total
        between = off**2 * self.counts * outcome.counts / total
        return Levels(counts, means, self.scatter + outcome.scatter + between)

    @property
    def freedom(self) -> Counts:
        """(n_pairs,) degrees of freedom of the scatter, 1 at least."""
        return np.asarray(np.maximum(self.counts - 1, 1))

    @property
    def deviations(self) -> Array:
        """(n_pairs,) of single pulls."""
        return np.sqrt(self.scatter / self.freedom)

    @property
    def silent(self) -> NDArray[np.bool_]:
        """(n_pairs,) whether all pulls of a pair gave the same, which normal ones never do."""
        rounding = self.counts * np.finfo(np.float64).eps * self.means  # of a sum of so many
        return np.asarray((self.counts > 1) & (self.scatter <= self.counts * rounding**2))
