"""Lessons of past phases that shared streams: whether sharing pays, and the common noise.

Under common random numbers the means of a phase all move together, by the average of its streams.
Compared within the phase that cancels; compared with another phase it is the largest part of the
noise. For choices only: a two-way fit of pairs and phases takes it out.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.certify.score import batch_means, repeating
from surefoot.plan.contrasts import Race
from surefoot.plan.tuning import Tuning
from surefoot.statistics import Outcome

SILENT = 1e-18  # variance of differences, in that of independent streams: it is rounding
ROUNDS = 8  # of fitting pairs and phases in turn
KEPT = 12  # phases that say whether shared streams pay
SILENT_BATCHES = 5  # without any difference that are taken for silence, not for chance
LEAST_OWN = 0.01  # share of the variance that is never common to all


class Streams:
    """Batches of the last phases with shared streams."""

    def __init__(self, n_pairs: int, tuning: Tuning) -> None:
        self._n_pairs, self._tuning = n_pairs, tuning
        self._phases: deque[tuple[IntArray, Array, NDArray[np.bool_]]] = deque(maxlen=KEPT)

    def add(self, outcome: Outcome) -> None:
        """Remember a phase with shared streams."""
        pairs = np.flatnonzero(outcome.counts)
        size = outcome.counts[pairs] // len(outcome.batch_sums)
        centred = batch_means(outcome, pairs)
        values = (centred - centred.mean(axis=0)) * np.sqrt(size)
        self._phases.append((pairs, values, repeating(outcome, pairs)))

    def pay(self, race: Race, rivals: IntArray) -> bool:
        """Return whether differences varied less than they would with independent streams.

        True if no shared phase compared these pairs yet, so that one is tried.
        """
        together, apart = 0.0, 0.0
        for pairs, values, _ in self._phases:
            place = np.full(self._n_pairs, -1)
            place[pairs] = np.arange(len(pairs))
            own, others = place[race.own], place[rivals]
            first, second = values[:, own[own >= 0]], values[:, others[others >= 0]]
            alone = (first**2).sum(axis=0).sum() * second.shape[1]
            alone += (second**2).sum(axis=0).sum() * first.shape[1]
            apart += float(alone)
            together += float(alone - 2 * (first.sum(axis=1) * second.sum(axis=1)).sum())
        return together <= self._tuning.streams_pay * apart or apart == 0.0

    def silent(self, race: Race, rivals: IntArray) -> bool:
        """Return whether a difference did not vary at all though both rewards did, and these
        repeat, so that it may be chance: then scores count it for nothing.
        """
        together, alone, batches = np.zeros((3, len(race.own), len(rivals)))
        for pairs, values, repeated in self._phases:
            known = np.full((len(values), self._n_pairs), np.nan)
            known[:, pairs[repeated]] = values[:, repeated]
            own, others = known[:, race.own, None], known[:, None, rivals]
            together += np.nansum((own - others) ** 2, axis=0)
            alone += np.nansum(own**2 + others**2, axis=0)
            batches += np.isfinite(own - others).sum(axis=0)
        nothing_left = (together <= SILENT * alone) & (alone > 0)
        return bool((nothing_left & (batches >= SILENT_BATCHES)).any())


class CommonShifts:
    """Sums of the phases that shared streams, and how much of their noise was common."""

    def __init__(self) -> None:
        self._counts: list[Array] = []
        self._sums: list[Array] = []
        self._squares = np.zeros(2)  # left after the batches' own means, and in all

    def add(self, outcome: Outcome) -> None:
        """Remember a phase with shared streams."""
        self._counts.append(outcome.counts.astype(np.float64))
        self._sums.append(outcome.sums)
        pairs, n_batches = np.flatnonzero(outcome.counts), len(outcome.batch_sums)
        if n_batches < 2 or len(pairs) < 2:
            return
        means = batch_means(outcome, pairs)
        centred = means - means.mean(axis=0)
        own = centred - centred.mean(axis=1, keepdims=True)
        free = len(pairs) / (len(pairs) - 1)
        self._squares += [free * float((own**2).sum()), float((centred**2).sum())]

    @property
    def own_share(self) -> float:
        """The share of the variance that pairs do not have in common."""
        left, all_ = self._squares
        return float(np.clip(left / all_, LEAST_OWN, 1.0)) if all_ > 0 else 1.0

    def taken_out(self, counts: Array, sums: Array) -> Array:
        """Return (n_pairs,) means of all pulls so far, without the shifts of the phases that
        shared."""
        shared, totals = np.array(self._counts), np.array(self._sums)
        shifts = np.zeros(len(shared))
        pulls = np.maximum(counts, 1)
        means = sums / pulls
        for _ in range(ROUNDS if len(shared) > 1 else 0):
            shifts = (totals - shared * means).sum(axis=1) / shared.sum(axis=1)
            shifts -= np.average(shifts, weights=shared.sum(axis=1))
            means = (sums - shifts @ shared) / pulls
        return np.asarray(means)
