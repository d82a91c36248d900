"""What one phase says: rivals fixed before it, and one statistic for each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.prime.coordinates import Coordinates, Past
from surefoot.algorithms.prime.course import BatchValues
from surefoot.algorithms.prime.rivals import Prospect, RivalPoints, rival_points
from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array, IntArray
from surefoot.evidence.batches import spread_means
from surefoot.evidence.student import normal_scores, student_scores
from surefoot.statistics import Counts, Outcome
from surefoot.whitening import measured_root

SAME_POINT = 1e-12  # a rival this close to z', relative to the largest pair, is z' up to rounding
ROUNDING = 1e-13
NO_SCALE = 1e-140  # scales up to this stand for none


@dataclass(frozen=True, eq=False)
class Challenge:
    """A challenger's tests against some arms in one phase, fixed before its rewards are seen.

    Attributes:
        challenger: the arm whose pairs z' should beat each arm's rival point.
        arms: (n_arms_tested,) the arms under test.
        directions: (n_challenger_pairs, n_arms_tested, rank) z' − rival, whitened by the phase's
            design, length 1; zeros where the phase measures no usable direction.
        lengths: (n_challenger_pairs, n_arms_tested) their lengths ‖z' − rival‖ before; inf where
            unusable.
        expected: (n_challenger_pairs, n_arms_tested) gaps along them at the estimate from past
            data.
    """

    challenger: int
    arms: IntArray
    directions: Array
    lengths: Array
    expected: Array

    @property
    def places(self) -> IntArray:
        """(n_challenger_pairs,) which of the challenger's pairs these are: all."""
        return np.arange(len(self.lengths))

    @property
    def columns(self) -> IntArray:
        """(n_arms_tested,) what contrasts are told apart by: the arms."""
        return self.arms


class PhaseTests:
    """What a phase with these counts can measure, and the challenges it will be used for."""

    def __init__(self, coordinates: Coordinates, counts: Counts, past: Past) -> None:
        """Set up the tests of a phase from its (n_pairs,) pulls, before they are made."""
        self.coordinates, self.past = coordinates, past
        pulled = np.flatnonzero(counts)
        self.pulled, self.counts = pulled, counts
        design = coordinates.rows[pulled] * np.sqrt(counts[pulled])[:, None]
        self.root, unmeasured = measured_root(design)
        self.freedom = int(counts.sum()) - self.root.shape[1]
        whitened = coordinates.pairs @ self.root
        self.prospect = Prospect(
            measured=whitened,
            past=past.pairs,
            hidden=coordinates.pairs @ unmeasured,
            sizes=coordinates.sizes,
            means=coordinates.pairs @ past.theta,
            offsets=coordinates.offsets,
            carried=whitened,
        )
        self.least = SAME_POINT * math.sqrt((whitened * whitened).sum(axis=1).max())
        self.challenges: list[Challenge] = []

    def add(self, challenger: int, arms: IntArray) -> None:
        """Choose, for each z' of the challenger and each arm, the point to beat most clearly."""
        points = rival_points(self.prospect, challenger, arms)
        lengths = self._lengths(points)
        directions = points.differences / lengths[:, :, None]
        self.challenges.append(Challenge(challenger, arms, directions, lengths, points.gaps))

    def sees(self, challenger: int, arms: IntArray) -> NDArray[np.bool_]:
        """(n_challenger_pairs, n_arms_tested) whether such a point can be told from z' at all."""
        return np.isfinite(self._lengths(rival_points(self.prospect, challenger, arms)))

    def _lengths(self, points: RivalPoints) -> Array:
        return np.where(points.ahead <= self.least, np.inf, points.ahead)

    def statistics(self, outcome: Outcome, settings: Settings) -> list[tuple[Array, Array | None]]:
        """For each challenge T, and T eased by the tolerance: (n_challenger_pairs, n_arms_tested).

        Only what the phase adds to the past estimate is projected: rewards far from zero then keep
        their digits. With an unknown scale, T is a t statistic on this phase's own residual, mapped
        to a normal one.
        """
        if settings.noise.evidence == "batches":
            return self._batch_scores(outcome, settings.tolerance)
        surprise = (outcome.sums - outcome.counts * self.prospect.means) / self.coordinates.scales
        projected = self.root.T @ (self.coordinates.rows.T @ surprise)
        scale_known, tolerance = settings.noise.known, settings.tolerance
        sigma = (
            1.0
            if scale_known
            else np.sqrt(self._residual(outcome, surprise, projected) / self.freedom)
        )
        results: list[tuple[Array, Array | None]] = []
        for challenge in self.challenges:
            plain = (
                challenge.directions @ projected + challenge.expected / challenge.lengths
            ) / sigma
            eased = plain + tolerance / (sigma * challenge.lengths) if tolerance > 0 else None
            if not scale_known:
                plain = normal_scores(plain, self.freedom)
                eased = None if eased is None else normal_scores(eased, self.freedom)
            results.append((plain, eased))
        return results

    def _batch_scores(self, outcome: Outcome, tolerance: float) -> list[tuple[Array, Array | None]]:
        """Scores from one estimate per batch: nothing is assumed about the pairs' variances."""
        return [
            (
                student_scores(values, 0.0),
                student_scores(values, tolerance) if tolerance > 0 else None,
            )
            for values, _, _ in self.contrasts(outcome)
        ]

    def contrasts(self, outcome: Outcome) -> list[BatchValues]:
        """For each challenge one value per batch, from that batch's own estimate."""
        pairs, m = self.pulled, len(outcome.batch_sums)
        surprise = spread_means(outcome, pairs) - self.prospect.means[pairs]
        counts, scales = self.counts[pairs], self.coordinates.scales[pairs]
        rows = self.coordinates.rows[pairs]
        projected = surprise * (counts / scales) @ rows @ self.root  # (n_batches, rank)
        # what batches would vary by if all pairs were equally noisy
        alike = rows @ self.root * (np.sqrt(counts * m / 2) / scales)[:, None]
        alike = alike.T @ alike
        results = []
        for challenge in self.challenges:
            usable = np.isfinite(challenge.lengths)
            lengths = np.where(usable, challenge.lengths, 0.0)
            gained = np.einsum("kar,br->bka", challenge.directions, projected)
            values = gained * lengths + np.where(usable, challenge.expected, 0.0)
            squares = ((challenge.directions @ alike) * challenge.directions).sum(axis=2)
            layout = squares * lengths**2
            # before any replicate nothing is known of scales, and the phase has to say it itself
            variances = m / 2 * lengths**2 if scales.max() > NO_SCALE else values.var(axis=0)
            results.append(BatchValues.of(values, layout, variances))
        return results

    def _residual(self, outcome: Outcome, surprise: Array, projected: Array) -> float:
        """The phase's residual sum of squares: scatter within pairs, and misfit of their means.

        No smaller than what rounding leaves of rewards of this size: a simulator without noise is
            no evidence of ties.
        """
        pulled, scales = np.flatnonzero(outcome.counts), self.coordinates.scales
        counts = outcome.counts[pulled]
        fitted = self.coordinates.rows[pulled] @ (self.root @ projected)
        misfit = (counts * (surprise[pulled] / counts - fitted) ** 2).sum()
        size = float((outcome.sums[pulled] ** 2 / (counts * scales[pulled] ** 2)).sum())
        return max(
            float((outcome.scatter / scales**2).sum() + misfit), (ROUNDING**2) * size, 1e-300
        )
