"""The contract of a guide: from what was seen so far to a guess of every pair's mean.

Nothing that a certificate says depends on a guide. A bad one costs pulls, never validity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts

MOST_COLUMNS = 60  # of a covariance's factor: what smooth guesses have in common needs fewer
NEGLIGIBLE = 1e-3  # variance that is left to pairs by themselves, in the largest


class Guess(NamedTuple):
    """The means that a guide guesses.

    Attributes:
        means: (n_pairs,) expected rewards.
        deviations: (n_pairs,) standard deviations of these expectations.
        factor: (n_pairs, any) F, where errors of these expectations are correlated: those of two
            pairs have the covariance F_i · F_j. None: they are independent.
    """

    means: Array
    deviations: Array
    factor: Array | None = None


@dataclass(frozen=True, eq=False)
class Seen:
    """The statistics so far of every pair.

    Attributes:
        problem: what the pairs are: parameters, features, arms.
        counts: (n_pairs,) pulls.
        means: (n_pairs,) mean rewards; 0 where there are none.
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
    """Return the guide's guess, or an error that says what is wrong with it."""
    with _blamed(guide):
        guess = Guess(*guide.guess(seen))
        means = np.asarray(guess.means, dtype=np.float64)
        deviations = np.asarray(guess.deviations, dtype=np.float64)
        factor = None if guess.factor is None else np.asarray(guess.factor, dtype=np.float64)
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
    deviations = np.maximum(deviations, 0.0)
    if factor is None:
        return Guess(means, deviations)
    if factor.ndim != 2 or len(factor) != n_pairs or not np.isfinite(factor).all():
        raise InputError(
            f"the guide {guide.name!r} gave a factor of shape {factor.shape}: give a row of finite "
            f"numbers for each of the {n_pairs} pairs, or None; no reward is lost"
        )
    # a pair has no more in common with others than its own deviation
    lengths = np.maximum(np.linalg.norm(factor, axis=1), 1e-300)
    return Guess(means, deviations, factor * np.minimum(deviations / lengths, 1.0)[:, None])


def factored(variances: Array, column: Callable[[int], Array]) -> Array:
    """(n_pairs, most) F with F Fᵀ near a covariance, by the pivoted Cholesky factorisation.

    Args:
        variances: (n_pairs,) the diagonal of the covariance.
        column: from the number of a pair to its column of the covariance.
    """
    left, parts = variances.astype(np.float64), list[Array]()
    while len(parts) < MOST_COLUMNS and left.max() > NEGLIGIBLE * variances.max():
        pivot = int(left.argmax())
        so_far = sum((part[pivot] * part for part in parts), np.zeros(len(left)))
        parts.append((column(pivot) - so_far) / np.sqrt(left[pivot]))
        left = np.maximum(left - parts[-1] ** 2, 0.0)
        left[pivot] = 0.0
    return np.column_stack(parts) if parts else np.zeros((len(left), 0))


def first_pairs_of(guide: Guide, problem: RobustProblem) -> IntArray:
    """Return the pairs that the guide wants first, or an error that says what is wrong with
    them.
    """
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
    """Whatever goes wrong in a guide's own code is said to be the guide's."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the guide {guide.name!r} failed ({type(error).__name__}: {error}): mend it or choose "
            'another, for example guide="trend"; no reward is lost'
        ) from error
