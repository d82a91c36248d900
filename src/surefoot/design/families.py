"""Families of blocks: which comparisons a design must resolve, priced without ever building them all.

Every family answers two questions at a whitener T (so that ‖T v‖² = vᵀA⁻¹v): how bad is the worst block, with the
blocks that are bad (`price`), and what are the rows and gaps of given blocks (`blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.design.block_distance import announce_compilation, solve_blocks
from surefoot.design.small_problem import Blocks
from surefoot.design.types import FloatArray, IntArray
from surefoot.errors import InputError

CHUNK_ENTRIES = 4_000_000
HULL_CHUNK = 512
EVERY_BLOCK = 1 << 60
HULL_TOLERANCE = 1e-16  # squared distance from the hull, relative to its squared size
NO_GAP = 1e-13  # gaps are differences of values: below this share of the largest value they are rounding errors


@dataclass(frozen=True)
class Prices:
    """The criterion at one design.

    Attributes:
        value: the largest criterion over all blocks of the family.
        blocks: identities of the blocks above the threshold, worst first.
        criteria: their criteria.
        candidates: how many blocks are, or may be, above the threshold.
    """

    value: float
    blocks: IntArray
    criteria: FloatArray
    candidates: int


class Family(Protocol):
    """What the working-set solver needs to know about its blocks."""

    def price(self, whitener: FloatArray, threshold: float, limit: int) -> Prices:
        """The worst criterion, and at most `limit` blocks whose criterion is above the threshold."""
        ...

    def blocks(self, identities: IntArray, whitener: FloatArray) -> Blocks:
        """The rows and gaps of these blocks (a choice among rows is made at the whitener)."""
        ...


class Directions:
    """Fixed directions v with gap 1: the criterion is vᵀA⁻¹v."""

    def __init__(self, directions: FloatArray) -> None:
        self.directions = directions

    def price(self, whitener: FloatArray, threshold: float, limit: int) -> Prices:
        whitened = self.directions @ whitener.T
        return _worst(np.einsum("ij,ij->i", whitened, whitened), threshold, limit)

    def blocks(self, identities: IntArray, whitener: FloatArray) -> Blocks:
        return Blocks(self.directions[identities], np.ones(identities.size), np.arange(identities.size + 1))


@dataclass(frozen=True)
class Comparison:
    """Each of some pairs (the apexes) against each of some arms (the rivals).

    A block's identity is `apex position * number of rivals + rival position`.

    Attributes:
        pairs: (n_pairs, dimension) all pairs.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        apexes: indices of the pairs to be compared.
        rivals: indices of the arms they are compared with; an apex is never compared with its own arm.
        apex_values: (n_apexes,) and rival_values (n_pairs,): the gap of a row is (apex value − rival value) * scale.
        rival_values: see above.
        scales: (n_arms,) see above.
    """

    pairs: FloatArray
    offsets: IntArray
    apexes: IntArray
    rivals: IntArray
    apex_values: FloatArray
    rival_values: FloatArray
    scales: FloatArray

    @cached_property
    def members(self) -> IntArray:
        """Indices of the rivals' pairs, rival after rival."""
        return _ranges(self.offsets[self.rivals], self.offsets[self.rivals + 1])[0]

    @cached_property
    def smallest_gap(self) -> float:
        """Gaps up to this are none."""
        return NO_GAP * max(float(np.abs(self.rival_values).max()), float(np.abs(self.apex_values).max()))

    def tie(self, identity: int) -> InputError:
        """The error for a block that no change of θ separates."""
        apex, rival = divmod(identity, self.rivals.size)
        return InputError(
            f"at this theta arm {self.rivals[rival]} is at least as good as arm {self.own_arm()[apex]} (pair "
            f"{self.apexes[apex]}), so no number of samples confirms the latter: choose the best arm as leader, and a "
            "theta without ties"
        )

    def own_arm(self) -> IntArray:
        """(n_apexes,) the arm of each apex."""
        return np.searchsorted(self.offsets, self.apexes, side="right").astype(np.int64) - 1

    def vertex_ratios(self, whitener: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield (first apex, (n_chunk, n_rivals) min over the rival's pairs of ‖z − z'‖²_{A⁻¹} / gap₊²)."""
        members = self.members
        sizes = np.diff(self.offsets)[self.rivals]
        firsts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        rival_points, apex_points = self.pairs[members] @ whitener.T, self.pairs[self.apexes] @ whitener.T
        centre = rival_points.mean(axis=0)  # differences do not change, rounding errors shrink
        rival_points -= centre
        apex_points -= centre
        rival_norms, apex_norms = _squares(rival_points), _squares(apex_points)
        values, scales = self.rival_values[members], np.repeat(self.scales[self.rivals], sizes)
        own = self.own_arm()
        step = max(1, CHUNK_ENTRIES // max(1, members.size))
        for first in range(0, self.apexes.size, step):
            part = slice(first, first + step)
            ratios = apex_points[part] @ (-2.0 * rival_points.T)
            ratios += apex_norms[part, None]
            ratios += rival_norms
            np.maximum(ratios, 0.0, out=ratios)
            self._divide_by_gaps(ratios, self.apex_values[part], values, scales)
            lowest = np.minimum.reduceat(ratios, firsts, axis=1)
            lowest[own[part, None] == self.rivals] = 0.0
            yield first, lowest

    def _divide_by_gaps(
        self, ratios: FloatArray, apex_values: FloatArray, values: FloatArray, scales: FloatArray
    ) -> None:
        gaps = apex_values[:, None] - values
        positive = gaps > self.smallest_gap
        gaps *= scales
        np.square(gaps, out=gaps)
        np.divide(ratios, gaps, out=ratios, where=positive)
        ratios[~positive] = np.inf

    def rows_of(self, identities: IntArray) -> Blocks:
        """Every row of these blocks: the hull of the rival."""
        apexes, rivals = np.divmod(identities, self.rivals.size)
        arms = self.rivals[rivals]
        members, starts = _ranges(self.offsets[arms], self.offsets[arms + 1])
        repeats = np.diff(starts)
        rows = np.repeat(self.pairs[self.apexes[apexes]], repeats, axis=0) - self.pairs[members]
        gaps = np.repeat(self.apex_values[apexes], repeats) - self.rival_values[members]
        gaps[np.abs(gaps) <= self.smallest_gap] = 0.0
        return Blocks(rows, gaps * np.repeat(self.scales[arms], repeats), starts)


class Equal(Comparison):
    """A comparison whose gaps are all 1: the robust XY criterion."""

    @classmethod
    def among(cls, pairs: FloatArray, offsets: IntArray, arms: IntArray) -> Equal:
        """Every pair of the given arms against every other given arm."""
        apexes = _ranges(offsets[arms], offsets[arms + 1])[0]
        scales = np.ones(offsets.size - 1)
        return cls(pairs, offsets, apexes, arms, np.ones(apexes.size), np.zeros(len(pairs)), scales)

    def _divide_by_gaps(
        self, ratios: FloatArray, apex_values: FloatArray, values: FloatArray, scales: FloatArray
    ) -> None:
        return


class Vertices:
    """Blocks whose criterion is the *smallest* ratio over the rival's pairs, as the paper has it: not convex."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def price(self, whitener: FloatArray, threshold: float, limit: int) -> Prices:
        prices = _gather(self.comparison, whitener, threshold, limit)
        if prices.value == np.inf:
            raise self.comparison.tie(int(prices.blocks[0]))
        return prices

    def blocks(self, identities: IntArray, whitener: FloatArray) -> Blocks:
        """One row a block: the rival's pair that is smallest now. Any fixed choice is an upper bound elsewhere."""
        everything = self.comparison.rows_of(identities)
        ratios = _squares(everything.rows @ whitener.T)
        positive = everything.gaps > 0.0
        ratios = np.divide(ratios, everything.gaps**2, out=np.full_like(ratios, np.inf), where=positive)
        lowest = np.minimum.reduceat(ratios, everything.starts[:-1])
        is_lowest = ratios == np.repeat(lowest, np.diff(everything.starts))
        position = np.where(is_lowest, np.arange(ratios.size), ratios.size)
        chosen = np.minimum.reduceat(position, everything.starts[:-1])
        return Blocks(everything.rows[chosen], everything.gaps[chosen], np.arange(identities.size + 1))


class Hulls:
    """Blocks whose criterion is the smallest ratio over the *convex hull* of the rival: convex in the design.

    A block whose apex lies in the rival's hull has no strict alternative: the rival can never win there, whatever θ
    is. Such blocks are left out.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self._left_out = np.empty(0, dtype=np.int64)
        self._strict = np.empty(0, dtype=np.int64)

    def price(self, whitener: FloatArray, threshold: float, limit: int) -> Prices:
        """As every family; the value is an upper bound if more than `limit` blocks are above the threshold."""
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
        return Prices(worst, found[chosen], values[chosen], order.size)

    def _above(self, identities: IntArray, whitener: FloatArray, threshold: float) -> tuple[IntArray, FloatArray]:
        """Those of the blocks that are above the threshold and have a strict alternative, with their criteria."""
        distance = distances(self.blocks(identities, whitener), whitener)
        with np.errstate(divide="ignore"):
            criteria = 1.0 / distance
        above = np.flatnonzero(criteria > threshold)
        above = above[~self._in_hull(identities[above], whitener)]
        if not np.isfinite(criteria[above]).all():
            raise self.comparison.tie(int(identities[above[np.argmax(criteria[above])]]))
        return identities[above], criteria[above]

    def _in_hull(self, identities: IntArray, whitener: FloatArray) -> NDArray[np.bool_]:
        """Which of the blocks to leave out; each block is looked at once.

        A block whose gaps are all positive is strict: its rows lie on one side of a plane through 0.
        """
        new = identities[~np.isin(identities, self._strict)]
        inside = np.zeros(new.size, dtype=np.bool_)
        if new.size:
            blocks = self.blocks(new, whitener)
            doubtful = np.flatnonzero(np.minimum.reduceat(blocks.gaps, blocks.starts[:-1]) <= 0.0)
            inside[doubtful] = apex_in_hull(self.blocks(new[doubtful], whitener), whitener)
        self._left_out = np.concatenate([self._left_out, new[inside]])
        self._strict = np.concatenate([self._strict, new[~inside]])
        return np.isin(identities, new[inside])

    def blocks(self, identities: IntArray, whitener: FloatArray) -> Blocks:
        return self.comparison.rows_of(identities)


def apex_in_hull(blocks: Blocks, whitener: FloatArray) -> NDArray[np.bool_]:
    """(n_blocks,) whether 0 is a convex combination of the block's rows."""
    if blocks.count == 0:
        return np.zeros(0, dtype=np.bool_)
    equal = Blocks(blocks.rows, np.ones(blocks.gaps.size), blocks.starts)
    longest = np.maximum.reduceat(_squares(blocks.rows @ whitener.T), blocks.starts[:-1])
    return np.asarray(distances(equal, whitener) * longest > 1.0 / HULL_TOLERANCE)


def distances(blocks: Blocks, whitener: FloatArray) -> FloatArray:
    """(n_blocks,) the squared distance of each block's alternatives; 0 where no gap is positive."""
    announce_compilation()
    dimension = whitener.shape[0]
    capacity = int(np.minimum(np.diff(blocks.starts), dimension + 1).sum())
    distance, epsilon = np.empty(blocks.count), np.empty((blocks.count, dimension))
    basis, owner = np.empty((capacity, dimension)), np.empty(capacity, dtype=np.int64)
    rows = np.ascontiguousarray(blocks.rows @ whitener.T)
    solve_blocks(rows, blocks.gaps, blocks.starts, np.zeros(len(rows)), distance, epsilon, basis, owner)
    return distance


def _gather(comparison: Comparison, whitener: FloatArray, threshold: float, limit: int) -> Prices:
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
    order = np.argsort(-values, kind="stable")
    order = order[:limit]
    return Prices(worst, identities[order].astype(np.int64), values[order], count)


def _worst(criteria: FloatArray, threshold: float, limit: int) -> Prices:
    above = np.flatnonzero(criteria > threshold)
    worst = above[np.argsort(-criteria[above])[:limit]].astype(np.int64)
    return Prices(float(criteria.max()), worst, criteria[worst], above.size)


def _squares(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _ranges(begins: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """All indices in begins[k]:ends[k], range after range, and where each range starts among them."""
    sizes = ends - begins
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], sizes), starts
