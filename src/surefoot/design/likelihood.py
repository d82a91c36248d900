"""How far an estimate is from letting another arm win: the generalised likelihood ratio."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.comparison import Rivalry
from surefoot.design.solver.small_problem import Blocks, SmallProblem
from surefoot.design.whitening import cholesky_whitener


class Alternatives:
    """The θ' nearest to θ under which another arm wins, at given shares of the pulls: one for each
    pair of the leader and each rival, since one pair below all of a rival's is enough.

    Args:
        pairs: (n_pairs, dimension) grouped by arm.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) of the pairs under θ.
        rows: (n_pairs, dimension) what a pull of each pair measures.
        leader: the arm that is best under θ.
    """

    def __init__(
        self, pairs: Array, offsets: IntArray, means: Array, rows: Array, leader: int
    ) -> None:
        rivals = np.delete(np.arange(len(offsets) - 1), leader)
        apexes = np.arange(offsets[leader], offsets[leader + 1])
        comparison = Rivalry(pairs, offsets, apexes, rivals, means[apexes], means)
        blocks = comparison.rows_of(np.arange(len(apexes) * len(rivals)))
        self._problem = SmallProblem(rows, Blocks(blocks.rows, blocks.gaps, blocks.starts))

    def at(self, shares: Array) -> tuple[Array, Array] | None:
        """(n_blocks,) ‖θ' − θ‖² at these shares, and (n_pairs, n_blocks) what each pair's pulls add
        to it; None if the shares leave a direction unmeasured.
        """
        geometry = self._problem.geometry(shares)
        return None if geometry is None else (geometry.distance, geometry.squares)


def squared_distances(
    pairs: Array, offsets: IntArray, means: Array, information: Array, leader: int
) -> Array:
    """(n_arms,) the smallest ‖θ' − θ‖²_A over all θ' under which the arm beats the leader.

    For that, θ' must put every pair of the arm above some pair of the leader. The leader's own
    entry is infinite; an arm that is as good as the leader has 0, and all have where the
    information is singular.

    Args:
        pairs: (n_pairs, dimension) grouped by arm.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) of the pairs under θ.
        information: (dimension, dimension) A, the sum of n z zᵀ / σ² over the pairs.
    """
    n_arms = len(offsets) - 1
    whitener = cholesky_whitener(information)
    if whitener is None:
        return np.where(np.arange(n_arms) == leader, np.inf, 0.0)
    rivals, found = np.delete(np.arange(n_arms), leader), np.full(n_arms, np.inf)
    for apex in range(offsets[leader], offsets[leader + 1]):
        own = np.array([apex])
        blocks = Rivalry(pairs, offsets, own, rivals, means[own], means).rows_of(
            np.arange(len(rivals))
        )
        solved = blocks.solve(whitener, np.zeros(len(blocks.rows)))
        found[rivals] = np.minimum(found[rivals], solved.distance)
    return found
