"""Families of blocks: what a design must resolve, priced without ever building it all.

Every family answers two questions at a whitener T (so that ‖T v‖² = vᵀA⁻¹v): how bad is the worst
block, with the blocks that are bad (`price`), and what are the rows and gaps of given blocks
(`blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.comparison import Rivalry, squared_lengths
from surefoot.design.solver.small_problem import Blocks
from surefoot.problem.grouping import largest_of, places_of_smallest, smallest_of

HULL_CHUNK = 512
EVERY_BLOCK = 1 << 60
HULL_TOLERANCE = 1e-16  # squared distance from the hull, relative to its squared size


@dataclass(frozen=True)
class _Prices:
    """The criterion at one design.

    Attributes:
        value: the largest criterion over all blocks of the family.
        blocks: identities of the blocks above the threshold, worst first.
        criteria: their criteria.
        candidates: how many blocks are, or may be, above the threshold.
    """

    value: float
    blocks: IntArray
    criteria: Array
    candidates: int


class Family(Protocol):
    """The blocks as the working-set solver sees them."""

    def price(self, whitener: Array, threshold: float, limit: int) -> _Prices:
        """The worst criterion, and at most `limit` blocks above the threshold."""
        ...

    def blocks(self, identities: IntArray, whitener: Array) -> Blocks:
        """The rows and gaps of these blocks (a choice among rows is made at the whitener)."""
        ...


class Directions:
    """Fixed directions v with gap 1: the criterion is vᵀA⁻¹v."""

    def __init__(self, directions: Array) -> None:
        self.directions = directions

    def price(self, whitener: Array, threshold: float, limit: int) -> _Prices:
        return _worst(squared_lengths(self.directions @ whitener.T), threshold, limit)

    def blocks(self, identities: IntArray, whitener: Array) -> Blocks:
        return Blocks(
            self.directions[identities], np.ones(identities.size), np.arange(identities.size + 1)
        )


class Vertices:
    """Blocks by the paper's criterion, the smallest ratio over the rival's *pairs*. Not convex."""

    def __init__(self, comparison: Rivalry) -> None:
        self.comparison = comparison

    def price(self, whitener: Array, threshold: float, limit: int) -> _Prices:
        prices = _gather(self.comparison, whitener, threshold, limit)
        if prices.value == np.inf:
            raise self.comparison.tie(int(prices.blocks[0]))
        return prices

    def blocks(self, identities: IntArray, whitener: Array) -> Blocks:
        """One row per block: the rival's pair that is smallest now. Any fixed choice is an upper
        bound elsewhere.
        """
        everything = self.comparison.rows_of(identities)
        ratios = squared_lengths(everything.rows @ whitener.T)
        positive = everything.gaps > 0.0
        ratios = np.divide(
            ratios, everything.gaps**2, out=np.full_like(ratios, np.inf), where=positive
        )
        chosen = places_of_smallest(ratios, everything.starts)
        return Blocks(
            everything.rows[chosen], everything.gaps[chosen], np.arange(identities.size + 1)
        )


class Hulls:
    """Blocks whose criterion is the smallest ratio over the rival's *convex hull*. Convex.

    A block whose apex lies in the rival's hull has no strict alternative: the rival can never win
    there, whatever θ is. Such blocks are left out.
    """

    def __init__(self, comparison: Rivalry) -> None:
        self.comparison = comparison
        self._left_out = np.empty(0, dtype=np.int64)
        self._strict = np.empty(0, dtype=np.int64)

    def price(self, whitener: Array, threshold: float, limit: int) -> _Prices:
        """As every family; an upper bound if more than `limit` blocks are above the threshold."""
        candidates = _gather(self.comparison, whitener, threshold, EVERY_BLOCK)
        keep = ~np.isin(candidates.blocks, self._left_out)
        order, upper = candidates.blocks[keep], candidates.criteria[keep]
        worst, count = 0.0, 0
        blocks, criteria = [order[:0]], [upper[:0]]
        for first in range(0, order.size, HULL_CHUNK):
            if upper[first] <= worst or count >= limit:
                worst = max(worst, float(upper[first]))
                break
            part, values = self._above(order[first : first + HULL_CHUNK], whitener, threshold)
            blocks.append(part)
            criteria.append(values)
            count += part.size
            worst = max(worst, float(values.max(initial=0.0)))
        found, values = np.concatenate(blocks), np.concatenate(criteria)
        chosen = np.argsort(-values, kind="stable")[:limit]
        return _Prices(worst, found[chosen], values[chosen], order.size)

    def _above(
        self, identities: IntArray, whitener: Array, threshold: float
    ) -> tuple[IntArray, Array]:
        """The blocks above the threshold that have a strict alternative, with their criteria."""
        distance = distances(self.blocks(identities, whitener), whitener)
        with np.errstate(divide="ignore"):
            criteria = 1.0 / distance
        above = np.flatnonzero(criteria > threshold)
        above = above[~self._in_hull(identities[above], whitener)]
        if not np.isfinite(criteria[above]).all():
            raise self.comparison.tie(int(identities[above[np.argmax(criteria[above])]]))
        return identities[above], criteria[above]

    def _in_hull(self, identities: IntArray, whitener: Array) -> NDArray[np.bool_]:
        """Which of the blocks to leave out; each block is looked at once.

        A block whose gaps are all positive is strict: its rows lie on one side of a plane through
            0.
        """
        new = identities[~np.isin(identities, self._strict)]
        inside = np.zeros(new.size, dtype=np.bool_)
        if new.size:
            blocks = self.blocks(new, whitener)
            doubtful = np.flatnonzero(smallest_of(blocks.gaps, blocks.starts) <= 0.0)
            inside[doubtful] = apex_in_hull(self.blocks(new[doubtful], whitener), whitener)
        self._left_out = np.concatenate([self._left_out, new[inside]])
        self._strict = np.concatenate([self._strict, new[~inside]])
        return np.isin(identities, new[inside])

    def blocks(self, identities: IntArray, whitener: Array) -> Blocks:
        return self.comparison.rows_of(identities)


def apex_in_hull(blocks: Blocks, whitener: Array) -> NDArray[np.bool_]:
    """(n_blocks,) whether 0 is a convex combination of the block's rows."""
    if blocks.count == 0:
        return np.zeros(0, dtype=np.bool_)
    equal = Blocks(blocks.rows, np.ones(blocks.gaps.size), blocks.starts)
    longest = largest_of(squared_lengths(blocks.rows @ whitener.T), blocks.starts)
    return np.asarray(distances(equal, whitener) * longest > 1.0 / HULL_TOLERANCE)


def distances(blocks: Blocks, whitener: Array) -> Array:
    """(n_blocks,) the squared distance of each block's alternatives; 0 where no gap is positive."""
    return blocks.solve(whitener, np.zeros(len(blocks.rows))).distance


def _gather(comparison: Rivalry, whitener: Array, threshold: float, limit: int) -> _Prices:
    """Blocks by their vertex criterion."""
    worst, count, blocks, criteria = 0.0, 0, [], []
    for first, ratios in comparison.vertex_ratios(whitener):
        flat = ratios.ravel()
        worst = max(worst, float(flat.max(initial=0.0)))
        above = np.flatnonzero(flat > threshold)
        count += above.size
        if limit < above.size:
            above = above[np.argpartition(-flat[above], limit)[:limit]]
        blocks.append(above + first * comparison.rivals.size)
        criteria.append(flat[above])
    identities, values = np.concatenate(blocks), np.concatenate(criteria)
    order = np.argsort(-values, kind="stable")[:limit]
    return _Prices(worst, identities[order].astype(np.int64), values[order], count)


def _worst(criteria: Array, threshold: float, limit: int) -> _Prices:
    above = np.flatnonzero(criteria > threshold)
    worst = above[np.argsort(-criteria[above])[:limit]].astype(np.int64)
    return _Prices(float(criteria.max()), worst, criteria[worst], above.size)
