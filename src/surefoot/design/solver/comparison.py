"""Pairs against rival arms: blocks, their rows, and a cheap upper bound of each.

There may be millions of blocks; they are never built all at once. One Gram product in chunks gives,
for every block, the smallest ratio over the rival's pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.design.solver.small_problem import Blocks
from surefoot.errors import InputError
from surefoot.problem.grouping import members_of
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
        """Gaps up to this are none."""
        return NO_GAP * max(
            float(np.abs(self.rival_values).max()), float(np.abs(self.apex_values).max())
        )

    def tie(self, identity: int) -> InputError:
        """The error for a block that no change of θ separates."""
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
        """Every row of these blocks: the hull of the rival."""
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
    """Each rival's lowest ‖z − z'‖² / gap₊², from inner products; 0 for z's own arm."""
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
    """Every pair of the given arms against every other, all gaps 1: the robust XY criterion."""
    apexes = members_of(arms, offsets)[0]
    ones, zeros = np.ones(apexes.size), np.zeros(len(pairs))
    return Rivalry(pairs, offsets, apexes, arms, ones, zeros)


def chosen_arms(given: ArrayLike | None, n_arms: int, what: str) -> IntArray:
    """The arms given, each once and in order, or all of them."""
    arms = np.unique(np.arange(n_arms) if given is None else np.asarray(given))
    if arms.size and arms.dtype.kind not in "iu":
        raise InputError(f"{what} has type {arms.dtype}: give the numbers of arms, 0 for the first")
    if arms.size and not (arms[0] >= 0 and arms[-1] < n_arms):
        raise InputError(
            f"{what} reach from {arms[0]} to {arms[-1]}, but arms are numbered 0 to {n_arms - 1}"
        )
    return arms.astype(np.int64)


def squared_lengths(rows: Array) -> Array:
    """(n_rows,) ‖row‖²."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
