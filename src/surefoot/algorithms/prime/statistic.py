"""Claims where a model is trusted: which points a phase should be compared by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.prime.coordinates import Coordinates, Known
from surefoot.algorithms.prime.rivals import Prospect, RivalPoints, rival_points
from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Rows
from surefoot.design.whitening import measured_root
from surefoot.statistics import Counts

SAME_POINT = 1e-12  # a rival this close to z', relative to the largest pair, is z' up to rounding


class PhaseTests:
    """What a phase with these counts can measure."""

    def __init__(self, coordinates: Coordinates, counts: Counts, known: Known) -> None:
        """Set up the tests of a phase from its (n_pairs,) pulls, before they are made."""
        pulled = np.flatnonzero(counts)
        design = coordinates.rows[pulled] * np.sqrt(counts[pulled])[:, None]
        root, unmeasured = measured_root(design)
        whitened = coordinates.pairs @ root
        self.known, self.offsets = known, coordinates.offsets
        self.prospect = Prospect(
            measured=whitened,
            past=known.pairs,
            hidden=coordinates.pairs @ unmeasured,
            sizes=coordinates.sizes,
            means=coordinates.pairs @ known.theta,
            offsets=coordinates.offsets,
            carried=whitened,
        )
        self.least = SAME_POINT * math.sqrt((whitened * whitened).sum(axis=1).max())

    def claims(self, challenger: int, arms: IntArray, look: int) -> Claims:
        """Choose, for each z' of the challenger and each arm, the point to beat most clearly."""
        points = rival_points(self.prospect, challenger, arms)
        points.shares[points.ahead <= self.least] = 0.0
        return fitted_claims(challenger, arms, look, self.offsets, points.shares, np.zeros(()))

    def sees(self, challenger: int, arms: IntArray) -> NDArray[np.bool_]:
        """(n_challenger_pairs, n_arms_tested) whether such a point can be told from z' at all."""
        points: RivalPoints = rival_points(self.prospect, challenger, arms)
        return np.asarray(points.ahead > self.least)


def fitted_claims(
    challenger: int,
    arms: IntArray,
    look: int,
    offsets: IntArray,
    shares: Array,
    deviation: Array,
) -> Claims:
    """Claim for all of a challenger's pairs, by (n_own, n_tested, most) shares of arms' pairs."""
    n_tested, most = shares.shape[1:]
    flat = shares.reshape(-1, most)
    cell, place = np.nonzero(flat)
    starts = np.searchsorted(cell, np.arange(len(flat) + 1))
    columns = offsets[arms][cell % n_tested] + place
    return Claims(
        challenger,
        np.arange(offsets[challenger], offsets[challenger + 1]),
        arms,
        np.full(n_tested, look),
        Rows(starts, columns, flat[cell, place]),
        deviation,
    )
