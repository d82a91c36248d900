"""The contract of a guide: from the statistics so far to a guess of every pair's mean.

Nothing that a certificate says depends on a guide. A bad one costs pulls, never validity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts


class Guess(NamedTuple):
    """The means that a guide guesses.

    Attributes:
        means: (n_pairs,) expected rewards.
        deviations: (n_pairs,) standard deviations of these expectations.
    """

    means: Array
    deviations: Array


@dataclass(frozen=True, eq=False)
class Seen:
    """The statistics so far of every pair.

    Attributes:
        problem: the pairs, with parameters, features and arms.
        counts: (n_pairs,) pulls.
        means: (n_pairs,) mean rewards; 0 before the first pull.
        variances: (n_pairs,) of a single pull: the pair's own, drawn towards the pooled one.
    """

    problem: RobustProblem
    counts: Counts
    means: Array
    variances: Array

    @property
    def pulled(self) -> IntArray:
        return np.flatnonzero(self.counts)

    @property
    def errors(self) -> Array:
        """(n_pulled,) variances of the pulled pairs' means."""
        return np.asarray(self.variances[self.pulled] / self.counts[self.pulled])


class Guide(ABC):
    """Guesses means from past data. It is asked anew before every phase and keeps no state."""

    name: ClassVar[str]

    @abstractmethod
    def guess(self, seen: Seen) -> Guess:
        """Means of all pairs, pulled or not, and how sure they are."""

    def first_pairs(self, problem: RobustProblem) -> IntArray:
        """Return the pairs that must be pulled before a guess is worth anything."""
        return np.arange(problem.n_pairs)


def checked(guide: Guide, seen: Seen) -> Guess:
    """Return the guide's guess; raise an error if it is invalid."""
    with _blamed(guide):
        means, deviations = guide.guess(seen)
        means = np.asarray(means, dtype=np.float64)
        deviations = np.asarray(deviations, dtype=np.float64)
    n_pairs = seen.problem.n_pairs
    for what, values in (("means", means), ("deviations", deviations)):
        if values.shape != (n_pairs,) or not np.isfinite(values).all():
            given = (
                f"of shape {values.shape}" if values.shape != (n_pairs,) else "that are not finite"
            )
            raise InputError(
                f"the guide {guide.name!r} gave {what} {given}: give one finite number for each of "
                f"the {n_pairs} pairs; no reward is lost"
            )
    return Guess(means, np.maximum(deviations, 0.0))


def first_pairs_of(guide: Guide, problem: RobustProblem) -> IntArray:
    """Return the pairs that the guide wants first; raise an error if they are invalid."""
    with _blamed(guide):
        pairs = np.asarray(guide.first_pairs(problem))
    whole = np.issubdtype(pairs.dtype, np.integer) and pairs.ndim == 1 and pairs.size > 0
    if not whole or not 0 <= pairs.min() <= pairs.max() < problem.n_pairs:
        raise InputError(
            f"the guide {guide.name!r} wants to begin with pairs {pairs.tolist()!s:.60}: its "
            "first_pairs must give a list of numbers of pairs, one at least, each from 0 to "
            f"{problem.n_pairs - 1}"
        )
    return np.unique(pairs).astype(np.int64)


@contextmanager
def _blamed(guide: Guide) -> Iterator[None]:
    """Attribute every error in a guide's own code to the guide."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the guide {guide.name!r} failed ({type(error).__name__}: {error}): mend it or choose "
            'another, for example guide="trend"; no reward is lost'
        ) from error
