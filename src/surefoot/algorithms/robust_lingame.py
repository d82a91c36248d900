"""Robust LinGame (Degenne, Ménard, Shang and Valko, 2020): a game between pulls and alternatives.

A learner of pairs plays exponential weights against the alternative θ' that is nearest at the
weights it plays; what it gains is what each pair's pulls add to the distance, with optimism about
the estimate. For the robust problem the nearest alternatives are those of the exact H*. It stops as
Robust Track-and-Stop does, with the same proof of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.fitting import information
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.arrays import Array
from surefoot.design.separation import Alternatives
from surefoot.design.whitening import cholesky_whitener


@dataclass(eq=False)
class RobustLinGame(RobustTrackAndStop):
    """Follow the average play of a learner against the nearest alternative.

    Attributes:
        growth: by which the pulls grow from look to look.
        rounds: of the game before each look.
    """

    rounds: int = 20
    name: ClassVar[str] = "robust-lingame"

    def begin(self) -> None:
        super().begin()
        self.gains = np.zeros(self.problem.n_pairs)
        self.largest = 0.0

    def want(self, pulls: int) -> None:
        offsets, means = self.problem.offsets, self.problem.pairs @ self.tally.estimate
        alternatives = Alternatives(self.coordinates, offsets, means, self.measured, self.leader)
        widths = self._widths()
        for _ in range(self.rounds):
            played = self._play()
            found = alternatives.at(played)
            if found is not None:
                distances, squares = found
                gained = squares[:, int(np.argmin(distances))]
                optimistic = (np.sqrt(gained) + widths) ** 2
                self.gains += optimistic
                self.largest = max(self.largest, float(optimistic.max()))
            self.wanted += pulls / self.rounds * played

    def _play(self) -> Array:
        """Exponential weights; a little goes everywhere, so that every alternative has a
        distance.
        """
        n = len(self.gains)
        played = max(len(self.history), 1) * self.rounds
        rate = math.sqrt(math.log(n) / played) / self.largest if self.largest > 0 else 0.0
        weights = np.exp(rate * (self.gains - self.gains.max()))
        share = min(math.sqrt((self.spread > 0).sum() / self.samples), 1.0) / 2
        return np.asarray((1 - share) * weights / weights.sum() + share * self.spread)

    def _widths(self) -> Array:
        """Return (n_pairs,) how far a pair's mean may be off, in standard deviations of a pull."""
        whitener = cholesky_whitener(information(self.measured, self.tally.counts))
        if whitener is None:
            return np.zeros(self.problem.n_pairs)
        located = self.measured @ whitener.T
        log = math.sqrt(2 * math.log(max(self.samples, 2)))
        return np.asarray(log * np.sqrt(np.einsum("ij,ij->i", located, located)))
