"""PRIME's walks: how the statistics of phases add up to evidence against each arm."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from surefoot.arrays import Array, IntArray


class Where(Protocol):
    """Whose evidence: some of a challenger's pairs, by their places among them, against arms."""

    @property
    def challenger(self) -> int: ...

    @property
    def places(self) -> IntArray: ...

    @property
    def arms(self) -> IntArray: ...


class Walks:
    """Walks W(x) = Σ_ℓ min over z' in Z_ℓ of Σ √w T over the phases in which ℓ challenged x.

    A pair z' is settled against x once the sum would cross with z' as its challenger's worst pair,
    whatever those of the other challengers are. Settled pairs leave the minimum: their sums become
    infinite.
    """

    def __init__(self, offsets: IntArray) -> None:
        self._offsets, self.sizes = offsets, np.diff(offsets)
        self.blocks: dict[int, Array] = {}
        self.eased: dict[int, Array] = {}
        self._worst: dict[int, Array] = {}

    def add(self, where: Where, plain: Array, eased: Array | None) -> None:
        """Count (n_places, n_arms_tested) √w T of one phase, and the same eased by a tolerance."""
        challenger, cells = where.challenger, (where.arms[:, None], where.places)
        for store, values in ((self.blocks, plain), (self.eased, eased)):
            if values is None:
                continue
            if challenger not in store:
                store[challenger] = np.zeros((len(self.sizes), self.sizes[challenger]))
            store[challenger][cells] += values.T
        self._worst[challenger] = self.blocks[challenger].min(axis=1)

    def copy(self) -> Walks:
        """The same, to go on by itself."""
        other = Walks(self._offsets)
        other._worst = dict(self._worst)
        for mine, theirs in ((self.blocks, other.blocks), (self.eased, other.eased)):
            theirs.update({challenger: block.copy() for challenger, block in mine.items()})
        return other

    @property
    def may_settle(self) -> bool:
        """Whether a challenger has several pairs: one alone is all there is to settle."""
        return any(block.shape[1] > 1 for block in self.blocks.values())

    def settle(self, levels: Array) -> None:
        """Settle the pairs that reach these levels, () or (n_arms,), against arms that do not."""
        walk, levels = self.walk, levels if levels.ndim == 0 else levels[:, None]
        for store in (self.blocks, self.eased):
            for challenger, block in store.items():
                if block.shape[1] == 1:
                    continue
                settled = (walk - self._worst[challenger])[:, None] + block >= levels
                if settled.any():
                    block[settled & ~settled.all(axis=1, keepdims=True)] = np.inf
                    self._worst[challenger] = self.blocks[challenger].min(axis=1)
                    walk = self.walk

    @property
    def walk(self) -> Array:
        """(n_arms,) W(x)."""
        return sum(self._worst.values(), np.zeros(len(self.sizes)))

    def eased_walk(self, leader: int) -> Array:
        """(n_arms,) W(x; leader): with the tolerance counted in the leader's favour."""
        return (
            self._held(leader, self.eased[leader]).min(axis=1)
            if leader in self.eased
            else self.walk
        )

    def held_by(self, challenger: int) -> Array:
        """(n_arms, n_challenger_pairs) evidence as each pair of the challenger sees it."""
        block = self.blocks.get(challenger)
        return self._held(
            challenger,
            np.zeros((len(self.sizes), self.sizes[challenger])) if block is None else block,
        )

    def _held(self, challenger: int, block: Array) -> Array:
        """(n_arms, n_challenger_pairs) this block and the others' minima."""
        own = self._worst.get(challenger)
        others = self.walk if own is None else self.walk - own
        return np.asarray(others[:, None] + block)
