"""The frame of procedures that spend a given number of pulls and name the best guess."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from surefoot.algorithms.peers.base import Peer, whole
from surefoot.algorithms.verdict import StopReason
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.statistics import Counts, Outcome


class FixedBudget(Peer):
    """Pull every pair equally often at first, then by shares from the means and variances so
    far."""

    supports: ClassVar[frozenset[str]] = Peer.supports | {"guess"}
    stops_by_itself: ClassVar[bool] = False

    first_pulls: int
    increment: int

    def begin(self) -> None:
        whole(self.name, "first_pulls", self.first_pulls, 2)
        whole(self.name, "increment", self.increment, 1)
        if self.settings.budget is None:
            raise InputError(
                f'{self.name} never stops by itself: give a budget, or use "prime", which stops '
                "when it is sure"
            )

    def next_counts(self) -> Counts | StopReason:
        if self.remaining < 1:
            return StopReason.NO_CERTIFICATE
        if not self.history:
            return self._first()
        return self.more(int(min(self.increment, self.remaining)))

    def learn(self, outcome: Outcome) -> None:
        self.lead()

    @abstractmethod
    def more(self, pulls: int) -> Counts:
        """Return (n_pairs,) shares of the next pulls."""

    @property
    def variances(self) -> Array:
        """(n_pairs,) of single rewards; a pair without replicates is given the pooled one."""
        scatter, freedom = self.tally.scatter, self.tally.freedom
        pooled = float(scatter.sum()) / max(float(freedom.sum()), 1.0)
        own = np.divide(scatter, freedom, out=np.full(len(freedom), pooled), where=freedom > 0)
        return np.asarray(np.maximum(own, 1e-12 * pooled + 1e-300))

    def _first(self) -> Counts:
        n_pairs = self.problem.n_pairs
        total = int(min(self.first_pulls * n_pairs, self.remaining))
        return spread_evenly(n_pairs, total)


def spread_evenly(n_pairs: int, pulls: int) -> Counts:
    """Pulls of each pair, as equal as can be."""
    return np.asarray(np.diff(np.arange(n_pairs + 1) * pulls // n_pairs))


def topped_up(wanted: Array, counts: Counts, pulls: int) -> Counts:
    """Return whole pulls that bring the counts nearest to the targets, largest deficits first.

    Args:
        wanted: (n_pairs,) in any unit: shares of all pulls, these included.
    """
    goal = wanted / wanted.sum() * (counts.sum() + pulls)
    missing = np.maximum(goal - counts, 0.0)
    exact = missing * (pulls / missing.sum())
    added = np.floor(exact).astype(np.int64)
    left = pulls - int(added.sum())
    added[np.argsort(added - exact, kind="stable")[:left]] += 1
    return np.asarray(added)
