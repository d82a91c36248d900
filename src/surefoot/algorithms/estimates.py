"""Estimates of arms and pairs with their standard errors, and pulls in growing batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surefoot.algorithms.fitting import information
from surefoot.arrays import Array, IntArray
from surefoot.design.whitening import whiten
from surefoot.problem.grouping import largest_of, members_of, smallest_of
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts

SINGULAR = 1e-11  # eigenvalues of A, relative to its largest, in coordinates of size one
# a longer part of a pair, in the same coordinates, that no pull measured is more than rounding
UNSEEN = 1e-8
BLOCK = 2_000_000  # numbers in a block of differences


@dataclass(frozen=True, eq=False)
class Estimates:
    """Pairs with their estimated means, in coordinates where a distance is a standard error.

    Attributes:
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) estimated mean rewards.
        located: (n_pairs, rank) ‖located_i − located_j‖ = ‖z_i − z_j‖_{A⁻¹}.
        unseen: (n_pairs, dimension − rank) the part of the pairs that no pull measured.
    """

    offsets: IntArray
    means: Array
    located: Array
    unseen: Array

    @property
    def robust_values(self) -> Array:
        """(n_arms,) estimated robust values."""
        return smallest_of(self.means, self.offsets)

    @property
    def widths(self) -> Array:
        """(n_pairs,) standard errors of the means; ∞ where a part of the pair was not measured."""
        widths = np.sqrt(np.einsum("ij,ij->i", self.located, self.located))
        if self.unseen.shape[1]:
            widths[np.linalg.norm(self.unseen, axis=1) > UNSEEN] = np.inf
        return np.asarray(widths)

    def among(self, arms: IntArray) -> Estimates:
        """Return the estimates of these arms only."""
        chosen, offsets = members_of(arms, self.offsets)
        return Estimates(offsets, self.means[chosen], self.located[chosen], self.unseen[chosen])

    def with_means(self, means: Array) -> Estimates:
        """Return estimates with other means and these standard errors."""
        return replace(self, means=means)

    def after(self, measured: Array, pulls: int) -> Estimates:
        """Return the standard errors once that many more pulls are made, the means as they are now.

        Args:
            measured: (rank,) direction measured by one of the pulls, in the coordinates of
                `located`.
        """
        gained = pulls * float(measured @ measured)
        if gained == 0:
            return self
        # (I + n r rᵀ)^(−1/2) = I − shrink · r rᵀ
        shrink = (1 - 1 / np.sqrt(1 + gained)) * pulls / gained
        return replace(
            self, located=self.located - np.outer(self.located @ measured, shrink * measured)
        )

    def clearance(self, winners: IntArray) -> Array:
        """Return (n_winners, n_arms) min over the winner's z of max over the loser's z' of (z −
        z')ᵀθ̂ / ‖z − z'‖_{A⁻¹}.

        The winner beats the loser at threshold c if this exceeds c: *every* pair of the winner is
        above *some* pair of the loser. It is −∞ where that needs an unmeasured direction.
        """
        rows, starts = members_of(winners, self.offsets)
        above_some = np.empty((len(rows), len(self.offsets) - 1))
        step = max(1, BLOCK // max(self.located.size + self.unseen.size, 1))
        for begin in range(0, len(rows), step):
            block = self._ratios(rows[begin : begin + step])
            above_some[begin : begin + step] = largest_of(block, self.offsets)
        return smallest_of(above_some, starts, axis=0)

    def upper_gaps(self, rows: IntArray, radius: float) -> Array:
        """Return (n_rows, n_pairs) the largest (z' − z)ᵀθ in the ellipsoid, for z of the rows and
        any z'.

        Equal pairs give ∞: there is nothing to learn about their difference.
        """
        errors = _distances(self.located, rows)
        return np.where(
            errors > 0, self.means[None, :] - self.means[rows, None] + radius * errors, np.inf
        )

    def _ratios(self, rows: IntArray) -> Array:
        """Return (n_rows, n_pairs) standardised differences; 0 for equal pairs, −∞ for unmeasured
        ones."""
        gaps = self.means[rows, None] - self.means[None, :]
        errors = _distances(self.located, rows)
        ratios = np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0)
        if self.unseen.shape[1]:
            ratios[_distances(self.unseen, rows) > UNSEEN] = -np.inf
        return ratios


@dataclass(frozen=True, eq=False)
class Frame:
    """Compared pairs and the direction that a pull of each measures, free of the features'
    units."""

    offsets: IntArray
    pairs: Array
    rows: Array
    scales: Array

    @classmethod
    def of(cls, problem: RobustProblem, scales: Array) -> Frame:
        pairs, measured = whiten(problem.pairs, problem.pairs / scales[:, None])
        if problem.compared is not None:
            pairs = pairs[problem.compared_pairs]
        return cls(problem.compared_offsets, pairs, measured, scales)

    def estimate(self, counts: Counts, sums: Array) -> Estimates:
        """Least squares on these pulls; θ̂ = A⁻¹b, or its part within the range of a singular A."""
        values, vectors = np.linalg.eigh(information(self.rows, counts))
        seen = values > SINGULAR * max(values[-1], 1e-300)
        inverse_root = vectors[:, seen] / np.sqrt(values[seen])
        b = self.rows.T @ (sums / self.scales)
        located = self.pairs @ inverse_root
        return Estimates(
            self.offsets, located @ (inverse_root.T @ b), located, self.pairs @ vectors[:, ~seen]
        )


def _distances(points: Array, rows: IntArray) -> Array:
    difference = points[rows, None, :] - points[None, :, :]
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", difference, difference)))


Choice = Callable[[Estimates, int], int]


def decided(
    choose: Choice, estimates: Estimates, scales: Array, pulls: int, decisions: int
) -> Counts:
    """Return (n_pairs,) counts of a batch. Standard errors shrink as it is decided; means stay.

    Args:
        choose: the pair to pull next, given the estimates and how often it will be pulled.
        scales: (n_pairs,) noise scales.
        pulls: the size of the batch.
        decisions: how many choices share it.
    """
    counts = np.zeros(len(scales), dtype=np.int64)
    parts = min(decisions, pulls)
    for part in range(parts):
        share = pulls * (part + 1) // parts - pulls * part // parts
        chosen = choose(estimates, share)
        counts[chosen] += share
        estimates = estimates.after(estimates.located[chosen] / scales[chosen], share)
    return counts
