"""Where PRIME pulls next: the design most likely to settle all rivals, and how many pulls of it.

Nothing here bears on the guarantee: whatever is chosen from past data is allowed; only the number
of pulls depends on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.coordinates import Coordinates, Known
from surefoot.algorithms.prime.finishing import Rivals, finishing_design, whitened
from surefoot.algorithms.prime.hopes import Reach, take_hopes
from surefoot.algorithms.prime.outlook import Outlook, Standing
from surefoot.algorithms.prime.rivals import Prospect, RivalPoints, rival_points
from surefoot.algorithms.prime.schedule import Look
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array, IntArray

SAME = 1e-9  # points this close, relative to the largest pair, are not told apart


class Race(NamedTuple):
    """Who is ahead, of whom, and by how much evidence.

    Attributes:
        leader: the arm of best estimated worst case.
        others: (n_others,) the other survivors.
        held: (n_arms, n_leader_pairs) the leader's evidence so far, infinite where settled.
    """

    leader: int
    others: IntArray
    held: Array


class Allocation(NamedTuple):
    """What to pull.

    Attributes:
        weights: (n_pairs,) the share of each pair.
        pulls: how many in all.
        target: the rivals that they are meant to settle, if any.
    """

    weights: Array
    pulls: int
    target: Rivals | None


class Allocator:
    """Chooses phase after phase; each search begins at the last phase's weights."""

    def __init__(
        self, coordinates: Coordinates, weights: Array, spread: Array, tuning: Tuning
    ) -> None:
        """Begin with some (n_pairs,) weights; those of λ^G serve where nothing is to steer by."""
        self.coordinates, self.spread, self.weights = coordinates, spread, weights
        self.foresight, self.effort = tuning.foresight, tuning.effort
        self.curiosity = tuning.curiosity

    def allocate(self, known: Known, race: Race, look: Look) -> Allocation:
        """Weights and pulls of the next phase."""
        standing = self._standing(known, race, look.size)
        if not len(standing.gaps):  # the leader shares every pair that matters
            self.weights = self.spread
            return Allocation(self.spread, round(look.size), None)
        outlook = Outlook(standing, look, self.foresight)
        horizon = outlook.horizon()
        pressing = outlook.most_pressing(horizon)
        target = pressing.rivals(horizon)
        self.weights, lengths = finishing_design(
            self.coordinates.rows, self.weights, target, self.effort
        )
        return Allocation(self.weights, pressing.pulls(lengths), target)

    def _standing(self, known: Known, race: Race, pulls: float) -> Standing:
        """How the leader stands, if a phase of this many pulls follows the last design."""
        coordinates, pairs = self.coordinates, self.coordinates.pairs
        reach = whitened(pairs, coordinates.rows, self.weights)
        prospect = Prospect(
            measured=reach / math.sqrt(pulls),
            past=known.pairs,
            hidden=np.empty((len(pairs), 0)),
            sizes=coordinates.sizes,
            means=pairs @ known.theta,
            offsets=coordinates.offsets,
            carried=pairs,
        )
        points = rival_points(prospect, race.leader, race.others)
        self._wonder(points, prospect, race)
        least = 1e-9 * np.abs(points.gaps).max() + 1e-300
        standing = Standing(
            points.differences.reshape(-1, coordinates.dimension),
            np.maximum(points.gaps, least).ravel(),
            points.behind.ravel(),
            math.sqrt(pulls) * points.ahead.ravel(),
            race.held[race.others].T.ravel(),
        )
        squares = (standing.directions * standing.directions).sum(axis=1)
        open_ = np.isfinite(standing.held) & (squares > (SAME * coordinates.sizes.max()) ** 2)
        return standing if open_.all() else standing.take(np.flatnonzero(open_))

    def _wonder(self, points: RivalPoints, prospect: Prospect, race: Race) -> None:
        """Steer by pairs that may be worse than they seem, where these promise more than points."""
        coordinates, shape = self.coordinates, points.gaps.shape
        n_pairs, dimension = coordinates.pairs.shape
        found = points.differences.reshape(-1, dimension)
        both = np.concatenate([coordinates.pairs, found])
        reach = whitened(both, coordinates.rows, self.spread)
        lengths = np.linalg.norm(reach[n_pairs:], axis=1).reshape(shape)
        own = np.arange(coordinates.offsets[race.leader], coordinates.offsets[race.leader + 1])
        known = Reach(reach[:n_pairs], lengths)
        take_hopes(prospect, known, own, race.others, self.curiosity, points)
