"""Walks, clocks, settling and elimination: how scores add up.

W(x) = Σ_ℓ min over points z' of ℓ of Σ √w T(z', x), over the phases in which ℓ challenged x. A
point z' is settled against x once the sum would cross with z' as the worst point of ℓ, for any
worst points of the other challengers; settled points leave the minimum. Where arms are the least of
mixtures of points, the minimum is over the mixtures, and nothing is settled.

With a tolerance a second sum is kept with each score eased by it, in favour of one challenger at a
time.

Where only some arms may challenge, as with limits only those shown to qualify, the others' minima
count as far as they are below 0: they are there in full once their arm is known to be one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.certify.boundary import Boundary
from surefoot.certify.contrast import Claims, lowest

PLAIN, EASED = 0, -1  # kinds of sums; they coincide without a tolerance


class _Challenge(NamedTuple):
    """The evidence of one challenger, (n_kinds, n_arms, n_points) each.

    Attributes:
        exact: sums of √w T.
        sums: the sums, lowered.
        unsettled: points that are not settled.
        most: (n_points,) the largest share of each in mixtures; None: points are alone.
    """

    exact: Array
    sums: Array
    unsettled: NDArray[np.bool_]
    most: Array | None = None

    def least(self, kind: int, settling: bool) -> Array:
        """Return (n_arms,) the least sum, over the unsettled points if points are settled."""
        if self.most is not None:
            return np.asarray((lowest(self.sums[kind], self.most) * self.sums[kind]).sum(axis=1))
        sums = np.where(self.unsettled[kind], self.sums[kind], np.inf)
        return np.asarray((sums if settling else self.sums[kind]).min(axis=1))


class Walks:
    """The evidence against every arm.

    Attributes:
        places: (n_arms,) the grid point of each arm's clock; −1 before its first test.
        starts: (n_arms,) the grid point where it began, fixed before its first score; or −1.
        survivors: (n_arms,) arms that are not eliminated.
        near: for each challenger, the arms shown to be no better than it beyond the tolerance.
        counted: (n_arms,) challengers whose scores count in full; those of others only lower.
    """

    def __init__(
        self,
        offsets: IntArray,
        boundary: Boundary,
        n_kinds: int,
        strict: Boundary | None = None,
        most: Array | None = None,
    ) -> None:
        """Begin without evidence; counted arms are held against `strict`, on the same grid."""
        n_arms = len(offsets) - 1
        self.offsets, self.boundary, self.n_kinds = offsets, boundary, n_kinds
        self.strict, self.counted, self.most = strict, np.ones(n_arms, dtype=bool), most
        self.places, self.starts = np.full((2, n_arms), -1)
        self.survivors = np.ones(n_arms, dtype=bool)
        self.near: dict[int, NDArray[np.bool_]] = {}
        self._challenges: dict[int, _Challenge] = {}
        self._strength: dict[int | None, Array] = {None: np.full(n_arms, -np.inf)}

    def add(
        self, claims: Claims, scores: Array, caps: Array | None, less: Array | None = None
    ) -> Array:
        """Let clocks go on, and count (n_kinds, n_own, n_tested) scores.

        An arm whose clock stands still is in question again: no score is added, but its sums may
        be lowered more than they were, and the next look concludes anew.

        Args:
            caps: limits of the sums so far, of their shape; NaN: no limit. They only lower.
            less: a reduction of the sums so far, of their shape.

        Returns:
            By how much they are lowered in all.
        """
        ell, arms = claims.challenger, claims.arms
        held = self._challenges[ell] = self._challenge(ell)
        cells = np.ix_(np.arange(self.n_kinds), arms, claims.points - self.offsets[ell])
        root = self.boundary.root(self.places[arms], claims.clocks)
        exact = held.exact[cells] + (root * scores).transpose(0, 2, 1)
        lowered = exact
        if caps is not None:
            lowered = np.minimum(exact, np.where(np.isnan(caps), np.inf, caps).transpose(0, 2, 1))
        lowered = lowered - (0.0 if less is None else less.transpose(0, 2, 1))
        self.survivors[arms[root == 0]] = True  # the next look concludes anew
        for concluded, nothing in ((self.near, False), (self._strength, -np.inf)):
            for each in concluded.values():
                each[arms[root == 0]] = nothing
        held.unsettled[cells] |= (root == 0)[:, None] & (lowered < held.sums[cells])
        held.exact[cells], held.sums[cells] = exact, lowered
        self.starts[arms] = np.where(self.places[arms] < 0, claims.clocks, self.starts[arms])
        self.places[arms] = claims.clocks
        return np.asarray((exact - lowered).transpose(0, 2, 1))

    def fresh(self) -> Walks:
        """Return walks of these arms by this boundary, without any score."""
        return Walks(self.offsets, self.boundary, 1, most=self.most)

    def count(self, arms: NDArray[np.bool_]) -> None:
        """Count the scores of these challengers in full from now on.

        Under a stricter boundary, all that was concluded of them but their elimination is open.
        """
        new, self.counted = arms & ~self.counted, self.counted | arms
        if self.strict is not None:
            for near in self.near.values():
                near[new] = False
            for challenge in self._challenges.values():
                challenge.unsettled[:, new] = True

    def look(self) -> None:
        """Eliminate arms whose walk has reached the boundary, then settle points."""
        self._raise(None, self.walk(settling=False))
        self.survivors &= ~(self.walk() >= self.levels)
        if self.n_kinds > 1:
            for ell in self._challenges:
                near = self.near.setdefault(ell, np.zeros(len(self.places), dtype=bool))
                near |= self.walk(eased=ell) >= self.levels
                self._raise(ell, self.walk(eased=ell, settling=False))
        for kind in range(self.n_kinds):
            for ell, challenge in self._challenges.items():
                if not self.counted[ell] or challenge.most is not None:
                    continue
                reached = self.held(ell, kind) >= self.levels[:, None]
                challenge.unsettled[kind] &= ~reached | reached.all(axis=1, keepdims=True)

    @property
    def levels(self) -> Array:
        """(n_arms,) the walk that eliminates each arm now; ∞ before its first test."""
        now = self.boundary.levels(self.starts, self.places)
        if self.strict is not None:
            strict = self.strict.levels(self.starts, self.places)
            now = np.where(self.counted, np.maximum(strict, now), now)
        return np.where(self.places >= 0, now, np.inf)

    def walk(self, eased: int | None = None, settling: bool = True) -> Array:
        """Return (n_arms,) W(x), with the tolerance in favour of one challenger if it is named."""
        total = np.zeros(len(self.places))
        for ell in self._challenges:
            total += self._part(ell, EASED if ell == eased else PLAIN, settling)
        return total

    def _part(self, ell: int, kind: int, settling: bool) -> Array:
        """Return (n_arms,) a challenger's part of the walks."""
        least = self._challenges[ell].least(kind, settling)
        return least if self.counted[ell] else np.minimum(least, 0.0)

    def held(self, ell: int, kind: int = PLAIN) -> Array:
        """Return (n_arms, n_points) the walk as a challenger's points see it, ∞ if settled.

        Mixtures of points see it as the least of them does.
        """
        challenge = self._challenge(ell)
        others = self.walk() - (self._part(ell, PLAIN, True) if ell in self._challenges else 0.0)
        sums = others[:, None] + challenge.sums[kind]
        if challenge.most is not None:
            sums = (others + challenge.least(kind, True))[:, None] + 0.0 * sums
        return np.where(challenge.unsettled[kind], sums, np.inf)

    def weakest(self, leader: int, arms: NDArray[np.bool_]) -> list[tuple[float, int]]:
        """Return the weakest strength that shows some arms no better than the leader.

        That is one for each group of starts, unless an earlier group has a weaker one: the same
        strength has the larger p-value there.
        """
        plain, found = self._strength[None], list[tuple[float, int]]()
        strengths = np.maximum(plain, self._strength.get(leader, plain))[arms]
        groups = self.boundary.groups(np.maximum(self.starts[arms], 0))
        for group in np.unique(groups).tolist():
            strength = float(strengths[groups == group].min())
            if all(strength < earlier for earlier, _ in found):
                found.append((strength, group))
        return found

    def _challenge(self, ell: int) -> _Challenge:
        shape = self.n_kinds, len(self.places), int(np.diff(self.offsets)[ell])
        most = None if self.most is None else self.most[slice(*self.offsets[ell : ell + 2])]
        none_yet = _Challenge(np.zeros(shape), np.zeros(shape), np.ones(shape, dtype=bool), most)
        return self._challenges.get(ell, none_yet)

    def _raise(self, ell: int | None, walk: Array) -> None:
        begun = np.flatnonzero(self.places >= 0)
        now = self._strength.setdefault(ell, self._strength[None].copy())
        now[begun] = np.maximum(now[begun], self.boundary.strength(self.places[begun], walk[begun]))
