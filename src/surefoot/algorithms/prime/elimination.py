"""Who is still possible: evidence against arms, held against a boundary after every phase."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.prime.walks import Walks, Where
from surefoot.arrays import Array, IntArray
from surefoot.evidence.attained import Attained


class Elimination:
    """The survivors of a run, and why the others are out.

    Attributes:
        survivors: (n_arms,) arms not eliminated.
        walks: evidence against each arm, without pairs that are settled.
        evidence: (n_arms,) that evidence in units of its root, as last held against the boundary.
        boundary: what it was held against.
    """

    def __init__(self, offsets: IntArray, tolerance: float) -> None:
        self._offsets, self._tolerance = offsets, tolerance
        self.survivors = np.ones(len(offsets) - 1, dtype=bool)
        self.evidence: Array | None = None
        self.boundary: float | None = None
        self._spent: list[Attained] = []

    def begin(self, attained: Attained) -> None:
        """Start fresh walks on fresh looks."""
        self.walks = Walks(self._offsets)
        self._unsettled = self.walks  # until pairs may be settled
        self._near: dict[int, NDArray[np.bool_]] = {}
        self._eased: dict[int, Array] = {}
        self._attained = attained
        self._spent.append(attained)

    def add(self, where: Where, plain: Array, eased: Array | None) -> None:
        """Count what a phase says of a challenger's pairs against some arms."""
        self.walks.add(where, plain, eased)
        if self._unsettled is not self.walks:
            self._unsettled.add(where, plain, eased)

    def look(self, number: int | IntArray, boundary: Array | float, roots: Array | float) -> None:
        """Hold the evidence against the boundary: at one of the planned looks, or at one for each
        arm.
        """
        walk = np.asarray(self.walks.walk / roots)
        self.boundary = float(np.min(boundary))
        self.evidence = np.asarray(walk * (self.boundary / boundary))
        self.survivors = self.survivors & ~(walk >= boundary)
        self._attained.look(number, self._unsettled.walk / roots, None)
        if self._tolerance > 0:
            for leader in self.walks.blocks:
                eased = self.walks.eased_walk(leader) / roots
                crossed = eased >= boundary
                self._eased[leader] = np.asarray(eased * (self.boundary / boundary))
                self._near[leader] = self._near.get(leader, np.zeros_like(crossed)) | crossed
                self._attained.look(number, self._unsettled.eased_walk(leader) / roots, leader)
        if self.walks.may_settle:
            if self._unsettled is self.walks:
                self._unsettled = self.walks.copy()
            self.walks.settle(boundary * np.asarray(roots))

    def evidence_for(self, leader: int) -> Array | None:
        """(n_arms,) the evidence that a leader is better than each arm, or as good within the
        tolerance, as last held against the boundary.
        """
        return self._eased.get(leader, self.evidence) if self._tolerance > 0 else self.evidence

    def within_tolerance(self, preferred: int) -> int | None:
        """An arm that no other survivor beats by more than the tolerance, as has been shown."""
        for leader in sorted(self._near, key=lambda arm: arm != preferred):
            if self.survivors[leader] and not self.rivals(leader).any():
                return leader
        return None

    def confidence(self, leader: int, delta: float) -> Callable[[], float]:
        """What works out how sure one is now, whenever it is called: one minus the largest p-value
        of the other arms; one that is out has δ at most.
        """
        if self.evidence is None or not self.survivors[leader]:
            return lambda: 0.0
        rivals = self.rivals(leader)
        out = ~rivals
        out[leader] = False
        p_in, p_out = self._largest_p(leader, rivals), self._largest_p(leader, out)

        def confidence() -> float:
            largest = p_in()
            return 1 - (largest if largest >= delta else max(largest, min(delta, p_out())))

        return confidence

    def rivals(self, leader: int) -> NDArray[np.bool_]:
        """(n_arms,) arms that may still be better than the leader by more than the tolerance."""
        rivals = self.survivors.copy()
        if leader in self._near:
            rivals &= ~self._near[leader]
        rivals[leader] = False
        return rivals

    def _largest_p(self, leader: int, arms: NDArray[np.bool_]) -> Callable[[], float]:
        """The same for the largest p-value of these arms, 0 without any: it may be taken from any
        of the epochs.
        """
        if not arms.any():
            return lambda: 0.0
        spent = [attained.largest_p(leader, np.flatnonzero(arms)) for attained in self._spent]
        return lambda: min(p_value() for p_value in spent)
