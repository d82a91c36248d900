"""PRIME's evidence: rivals fixed before a phase, one statistic for each, summed block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from surefoot.algorithms.prime_coordinates import Coordinates
from surefoot.algorithms.prime_rivals import rival_points
from surefoot.arrays import Array, IntArray
from surefoot.statistics import Counts, Outcome

RANGE_TOLERANCE = 1e-11  # singular values of a phase's design below this share of the largest are taken as zero
SAME_POINT = 1e-12  # a rival this close to z', relative to the largest pair, is z' up to rounding
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Comparison:
    """A challenger's tests against some arms in one phase, fixed before its rewards are seen.

    Attributes:
        challenger: the arm whose pairs z' should beat each arm's rival point.
        arms: (n_arms_tested,) the arms under test.
        directions: (n_challenger_pairs, n_arms_tested, rank) z' − rival, whitened by the phase's design, length 1;
            zeros where the phase measures no usable direction.
        lengths: (n_challenger_pairs, n_arms_tested) their lengths ‖z' − rival‖ before; inf where unusable.
        expected: (n_challenger_pairs, n_arms_tested) gaps along them at the estimate from past data.
    """

    challenger: int
    arms: IntArray
    directions: Array
    lengths: Array
    expected: Array


class PhaseTests:
    """What a phase with these counts can measure, and the comparisons it will be used for."""

    def __init__(self, coordinates: Coordinates, counts: Counts, known: Array | None = None) -> None:
        """Set up the tests of a phase.

        Args:
            counts: (n_pairs,) its pulls.
            known: (n_pairs, dimension) pairs where distance is the standard deviation of a gap estimated on past data.
        """
        self.coordinates, self.counts = coordinates, counts
        pulled = np.flatnonzero(counts)
        design = coordinates.rows[pulled] * np.sqrt(counts[pulled])[:, None]
        _, singular, right = np.linalg.svd(design, full_matrices=len(pulled) < coordinates.dimension)
        self.rank = int((singular > RANGE_TOLERANCE * singular[0]).sum())
        self.freedom = int(counts.sum()) - self.rank
        self.root = right[: self.rank].T / singular[: self.rank]
        self.whitened = coordinates.pairs @ self.root
        self.hidden = coordinates.pairs @ right[self.rank :].T
        self.cautious = self.whitened if known is None else np.hstack([self.whitened, known])
        self.comparisons: list[Comparison] = []

    def add(self, challenger: int, arms: IntArray, theta: Array) -> None:
        """Choose, for each pair z' of the challenger and each arm, the point of its hull that z' should beat most."""
        differences, gaps = rival_points(
            self.coordinates, challenger, arms, theta, self.cautious, self.hidden, self.whitened
        )
        lengths = np.linalg.norm(differences, axis=2)
        lengths[lengths <= SAME_POINT * np.linalg.norm(self.whitened, axis=1).max()] = np.inf
        self.comparisons.append(Comparison(challenger, arms, differences / lengths[:, :, None], lengths, gaps))

    def statistics(
        self, outcome: Outcome, theta: Array, scales: Array, known: bool, tolerance: float
    ) -> list[tuple[Array, Array | None]]:
        """For each comparison T, and T eased by the tolerance if there is one: (n_challenger_pairs, n_arms_tested).

        Only what the phase adds to past estimate θ is projected: rewards far from zero then keep their digits. With an
        unknown scale, T is a t statistic on this phase's own residual, mapped to a normal one.
        """
        surprise = (outcome.sums - outcome.counts * (self.coordinates.pairs @ theta)) / scales
        projected = self.root.T @ (self.coordinates.rows.T @ surprise)
        sigma = 1.0 if known else np.sqrt(self._residual(outcome, surprise, projected, scales) / self.freedom)
        results: list[tuple[Array, Array | None]] = []
        for comparison in self.comparisons:
            plain = (comparison.directions @ projected + comparison.expected / comparison.lengths) / sigma
            eased = plain + tolerance / (sigma * comparison.lengths) if tolerance > 0 else None
            results.append((self._score(plain, known), None if eased is None else self._score(eased, known)))
        return results

    def _score(self, t: Array, known: bool) -> Array:
        return t if known else _normal_score(t, self.freedom)

    def _residual(self, outcome: Outcome, surprise: Array, projected: Array, scales: Array) -> float:
        """The phase's residual sum of squares: scatter within pairs, and misfit of their means.

        No smaller than what rounding leaves of rewards of this size: a simulator without noise is no evidence of ties.
        """
        pulled = np.flatnonzero(outcome.counts)
        counts = outcome.counts[pulled]
        fitted = self.coordinates.rows[pulled] @ (self.root @ projected)
        misfit = (counts * (surprise[pulled] / counts - fitted) ** 2).sum()
        size = float((outcome.sums[pulled] ** 2 / (counts * scales[pulled] ** 2)).sum())
        return max(float((outcome.scatter / scales**2).sum() + misfit), (ROUNDING**2) * size, 1e-300)


class Evidence:
    """The walks W(x) = Σ_ℓ min over z' in Z_ℓ of the sum of √w T over the phases in which ℓ challenged x.

    A pair z' is settled against x once the sum would cross with z' as its challenger's worst pair, whatever those of
    the other challengers are. Settled pairs leave the minimum: their sums become infinite.
    """

    def __init__(self, offsets: IntArray) -> None:
        self.sizes = np.diff(offsets)
        self.blocks: dict[int, Array] = {}
        self.eased: dict[int, Array] = {}

    def add(self, weight: float, comparison: Comparison, plain: Array, eased: Array | None) -> None:
        """Count one phase's statistics with √weight."""
        shape = (len(self.sizes), plain.shape[0])
        for store, values in ((self.blocks, plain), (self.eased, eased)):
            if values is not None:
                block = store.setdefault(comparison.challenger, np.zeros(shape))
                block[comparison.arms] += np.sqrt(weight) * values.T

    def settle(self, level: float) -> None:
        """Settle the pairs that reach this level against arms that do not."""
        for store in (self.blocks, self.eased):
            for challenger, block in store.items():
                if block.shape[1] > 1:
                    held = self._held(challenger, block)
                    settled = held >= level
                    if settled.any():
                        block[settled & ~settled.all(axis=1, keepdims=True)] = np.inf

    @property
    def walk(self) -> Array:
        """(n_arms,) W(x)."""
        return sum((block.min(axis=1) for block in self.blocks.values()), np.zeros(len(self.sizes)))

    def eased_walk(self, leader: int) -> Array:
        """(n_arms,) W(x; leader): with the tolerance counted in the leader's favour."""
        return self._held(leader, self.eased[leader]).min(axis=1) if leader in self.eased else self.walk

    def held_by(self, challenger: int) -> Array:
        """(n_arms, n_challenger_pairs) evidence as each pair of the challenger sees it: what more of it adds to."""
        block = self.blocks.get(challenger)
        return self._held(challenger, np.zeros((len(self.sizes), self.sizes[challenger])) if block is None else block)

    def _held(self, challenger: int, block: Array) -> Array:
        """(n_arms, n_challenger_pairs) this block and the others' minima."""
        own = self.blocks.get(challenger)
        others = self.walk if own is None else self.walk - own.min(axis=1)
        return np.asarray(others[:, None] + block)


def _normal_score(t: Array, freedom: int) -> Array:
    """Φ⁻¹(F_t(t)) through the tail that is small, so that large scores keep their digits."""
    tail = special.stdtr(freedom, -np.abs(t))
    return np.asarray(-np.sign(t) * special.ndtri(np.maximum(tail, 1e-300)))
