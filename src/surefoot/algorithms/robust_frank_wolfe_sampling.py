"""Robust Frank–Wolfe sampling (Wang, Tzeng and Proutiere, 2021): one step of Frank–Wolfe a round.

The shares pulled so far move towards the pairs that most increase the smallest distance to an
alternative. All alternatives that are nearly the nearest count at once: the direction is the
solution of a small game against them. It stops as Robust Track-and-Stop does, with the same proof
of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import optimize

from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop
from surefoot.arrays import Array
from surefoot.design.separation import Alternatives


@dataclass(eq=False)
class RobustFrankWolfeSampling(RobustTrackAndStop):
    """Move the shares by steps of Frank–Wolfe at the estimate.

    Attributes:
        growth: by which the pulls grow from look to look.
        rounds: steps before each look.
        near: alternatives within this share of the nearest one's distance count with it.
    """

    rounds: int = 10
    near: float = 0.1
    name: ClassVar[str] = "robust-frank-wolfe-sampling"

    def want(self, pulls: int) -> None:
        offsets, means = self.problem.offsets, self.problem.pairs @ self.tally.estimate
        alternatives = Alternatives(self.coordinates, offsets, means, self.measured, self.leader)
        share = min(math.sqrt((self.spread > 0).sum() / self.samples), 1.0) / 2
        for _ in range(self.rounds):
            found = alternatives.at(self.wanted / self.wanted.sum())
            toward = self.spread if found is None else self._direction(*found)
            self.wanted += pulls / self.rounds * ((1 - share) * toward + share * self.spread)

    def _direction(self, distances: Array, squares: Array) -> Array:
        """Return the shares that gain most against the worst of the alternatives that are nearly
        nearest: max min over them of Σ w_i F_ik, a matrix game.
        """
        least = float(distances.min())
        close = np.unique(squares[:, distances <= (1 + self.near) * least], axis=1)
        n, columns = close.shape
        if columns == 1 or close.max() <= 0:
            best = np.zeros(n)
            best[int(np.argmax(close[:, 0]))] = 1.0
            return best
        scaled = close / close.max()
        solved = optimize.linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.column_stack([-scaled.T, np.ones(columns)]),
            b_ub=np.zeros(columns),
            A_eq=np.append(np.ones(n), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(None, None)],
        )
        return self.spread if solved.x is None else np.asarray(solved.x[:n])
