"""Whether common random numbers pay: what past phases that shared streams say."""

from __future__ import annotations

from collections import deque

import numpy as np

from surefoot.algorithms.prime.direct.contest import Contest
from surefoot.arrays import Array, IntArray
from surefoot.evidence.batches import batch_means
from surefoot.statistics import Outcome

REMEMBERED = 12  # phases
PAYS = 0.95  # variance of differences under shared streams, in that of independent ones


class Streams:
    """Batches of the last phases with shared streams."""

    def __init__(self, n_pairs: int) -> None:
        self._n_pairs = n_pairs
        self._phases: deque[tuple[IntArray, Array]] = deque(maxlen=REMEMBERED)

    def add(self, outcome: Outcome) -> None:
        """Remember a phase with shared streams."""
        pairs = np.flatnonzero(outcome.counts)
        size = outcome.counts[pairs] // len(outcome.batch_sums)
        centred = batch_means(outcome, pairs)
        self._phases.append((pairs, (centred - centred.mean(axis=0)) * np.sqrt(size)))

    def pay(self, contest: Contest) -> bool:
        """Whether differences varied less than they would with independent streams.

        Without any data in point the answer is yes: one phase of it will tell.
        """
        together, apart = 0.0, 0.0
        for pairs, values in self._phases:
            place = np.full(self._n_pairs, -1)
            place[pairs] = np.arange(len(pairs))
            own, rivals = place[contest.own], place[contest.rivals]
            first, second = values[:, own[own >= 0]], values[:, rivals[rivals >= 0]]
            alone = (first**2).sum(axis=0).sum() * second.shape[1]
            alone += (second**2).sum(axis=0).sum() * first.shape[1]
            apart += float(alone)
            together += float(alone - 2 * (first.sum(axis=1) * second.sum(axis=1)).sum())
        return together <= PAYS * apart or apart == 0.0
