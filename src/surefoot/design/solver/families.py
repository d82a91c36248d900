"""Families of blocks: the comparisons of a design, priced without building all of them.

Every family answers two questions at a whitener T (so that ‖T v‖² = vᵀA⁻¹v): how bad is the worst
block, with the blocks that are bad (`price`), and what are the rows and gaps of given blocks
(`blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.interior_point import Blocks
from surefoot.errors import InputError
from surefoot.problem.grouping import largest_of, members_of, places_of_smallest, smallest_of
from surefoot.system.compiled import kernel

CHUNK_ENTRIES = 4_000_000
# gaps are differences of values: below this share of the largest value they are rounding errors
NO_GAP = 1e-13


@dataclass(frozen=True)
class Rivalry:
    """Each of some pairs (the apexes) against each of some arms (the rivals).

    A block's identity is `apex position * number of rivals + rival position`.

    Attributes:
        pairs: (n_pairs, dimension) all pairs.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        apexes: indices of the pairs to be compared.
        rivals: indices of the arms they are compared with; an apex is never compared with its own
            arm.
        apex_values: (n_apexes,) the gap of a row is its apex's value less its rival's.
        rival_values: (n_pairs,)
    """

    pairs: Array
    offsets: IntArray
    apexes: IntArray
    rivals: IntArray
    apex_values: Array
    rival_values: Array

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray]:
        """Indices of the rivals' pairs, and where each rival's begin among them."""
        return members_of(self.rivals, self.offsets)

    @cached_property
    def own_arm(self) -> IntArray:
        """(n_apexes,) the arm of each apex."""
        return np.searchsorted(self.offsets, self.apexes, side="right").astype(np.int64) - 1

    @cached_property
    def smallest_gap(self) -> float:
        """The size up to which gaps count as 0."""
        return NO_GAP * max(
            float(np.abs(self.rival_values).max()), float(np.abs(self.apex_values).max())
        )

    def tie(self, identity: int) -> InputError:
        """Return the error for a block that no change of θ separates."""
        apex, rival = divmod(identity, self.rivals.size)
        return InputError(
            f"at this theta arm {self.rivals[rival]} is at least as good as arm "
            f"{self.own_arm[apex]} (pair {self.apexes[apex]}), so no number of samples confirms "
            "the latter: choose the best arm as leader, and a theta without ties"
        )

    def vertex_ratios(self, whitener: Array) -> Iterator[tuple[int, Array]]:
        """Yield (first apex, (n_chunk, n_rivals) min over the rival's pairs of ‖z − z'‖²_{A⁻¹} /
        gap₊²).
        """
        members, starts = self._members
        rival_points, apex_points = (
            self.pairs[members] @ whitener.T,
            self.pairs[self.apexes] @ whitener.T,
        )
        centre = rival_points.mean(axis=0)  # differences do not change, rounding errors shrink
        rival_points -= centre
        apex_points -= centre
        apex_norms, values = squared_lengths(apex_points), self.rival_values[members]
        rivals = _Rivals(squared_lengths(rival_points), values, starts, self.rivals)
        step = max(1, CHUNK_ENTRIES // max(1, members.size))
        for first in range(0, self.apexes.size, step):
            part = slice(first, first + step)
            lowest = np.empty((len(apex_points[part]), self.rivals.size))
            apexes = _Apexes(apex_norms[part], self.apex_values[part], self.own_arm[part])
            products = apex_points[part] @ rival_points.T
            _lowest_ratios(products, apexes, rivals, self.smallest_gap, lowest)
            yield first, lowest

    def rows_of(self, identities: IntArray) -> Blocks:
        """Return every row of these blocks: the hull of the rival."""
        apexes, rivals = np.divmod(identities, self.rivals.size)
        arms = self.rivals[rivals]
        members, starts = members_of(arms, self.offsets)
        repeats = np.diff(starts)
        rows = np.repeat(self.pairs[self.apexes[apexes]], repeats, axis=0) - self.pairs[members]
        gaps = np.repeat(self.apex_values[apexes], repeats) - self.rival_values[members]
        gaps[np.abs(gaps) <= self.smallest_gap] = 0.0
        return Blocks(rows, gaps, starts)


class _Apexes(NamedTuple):
    """(n_apexes,) squared lengths, values and arms."""

    norms: Array
    values: Array
    arm: IntArray


class _Rivals(NamedTuple):
    """(n_members,) squared lengths and values; (n_rivals + 1,) starts; (n_rivals,) arms."""

    norms: Array
    values: Array
    starts: IntArray
    arm: IntArray


@kernel
def _lowest_ratios(
    products: Array, apexes: _Apexes, rivals: _Rivals, smallest_gap: float, lowest: Array
) -> None:
    """Return each rival's lowest ‖z − z'‖² / gap₊², from inner products; 0 for z's own arm."""
    for i in range(len(lowest)):
        for r in range(len(rivals.arm)):
            least = 0.0 if rivals.arm[r] == apexes.arm[i] else np.inf
            for j in range(rivals.starts[r], rivals.starts[r + 1]):
                gap = apexes.values[i] - rivals.values[j]
                if gap > smallest_gap:
                    square = max(apexes.norms[i] - 2 * products[i, j] + rivals.norms[j], 0.0)
                    least = min(least, square / gap**2)
            lowest[i, r] = least


def equal_gaps(pairs: Array, offsets: IntArray, arms: IntArray) -> Rivalry:
    """Return every pair of the given arms against every other, all gaps 1: the robust XY
    criterion.
    """
    apexes = members_of(arms, offsets)[0]
    ones, zeros = np.ones(apexes.size), np.zeros(len(pairs))
    return Rivalry(pairs, offsets, apexes, arms, ones, zeros)


def chosen_arms(given: ArrayLike | None, n_arms: int, what: str) -> IntArray:
    """Return the arms given, each once and in order, or all of them."""
    arms = np.unique(np.arange(n_arms) if given is None else np.asarray(given))
    if arms.size and arms.dtype.kind not in "iu":
        raise InputError(f"{what} has type {arms.dtype}: give the numbers of arms, 0 for the first")
    if arms.size and not (arms[0] >= 0 and arms[-1] < n_arms):
        raise InputError(
            f"{what} reach from {arms[0]} to {arms[-1]}, but arms are numbered 0 to {n_arms - 1}"
        )
    return arms.astype(np.int64)


def squared_lengths(rows: Array) -> Array:
    """Return (n_rows,) ‖row‖²."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


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
        """Return the worst criterion, and at most `limit` blocks above the threshold."""
        ...

    def blocks(self, identities: IntArray, whitener: Array) -> Blocks:
        """Return the rows and gaps of these blocks (a choice among rows is made at the
        whitener).
        """
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
        """Return one row per block: the rival's pair that is smallest now. Any fixed choice is an
        upper bound elsewhere.
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

    A block whose apex lies in the rival's hull has no strict alternative: the rival can win there
    for no θ. Such blocks are left out.
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
        """Return the blocks above the threshold that have a strict alternative, with their
        criteria.
        """
        distance = _distances(self.blocks(identities, whitener), whitener)
        with np.errstate(divide="ignore"):
            criteria = 1.0 / distance
        above = np.flatnonzero(criteria > threshold)
        above = above[~self._in_hull(identities[above], whitener)]
        if not np.isfinite(criteria[above]).all():
            raise self.comparison.tie(int(identities[above[np.argmax(criteria[above])]]))
        return identities[above], criteria[above]

    def _in_hull(self, identities: IntArray, whitener: Array) -> NDArray[np.bool_]:
        """Return the blocks to leave out, as flags; each block is looked at once.

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
    """Return (n_blocks,) whether 0 is a convex combination of the block's rows."""
    if blocks.count == 0:
        return np.zeros(0, dtype=np.bool_)
    equal = Blocks(blocks.rows, np.ones(blocks.gaps.size), blocks.starts)
    longest = largest_of(squared_lengths(blocks.rows @ whitener.T), blocks.starts)
    return np.asarray(_distances(equal, whitener) * longest > 1.0 / HULL_TOLERANCE)


def _distances(blocks: Blocks, whitener: Array) -> Array:
    """Return (n_blocks,) the squared distance of each block's alternatives; 0 where no gap is
    positive."""
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
