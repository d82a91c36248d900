"""Where PRIME pulls next: the design most likely to settle all rivals, and how many pulls of it.

Nothing here bears on the guarantee: whatever is chosen from past data is allowed; only the number
of pulls depends on it.
"""

from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms.prime.coordinates import Coordinates
from surefoot.algorithms.prime.finishing import Rivals, finishing_design, whitened
from surefoot.algorithms.prime.outlook import Look, Standing
from surefoot.algorithms.prime.rivals import rival_points
from surefoot.arrays import Array, IntArray

SAME = 1e-9  # points this close, relative to the largest pair, are not told apart


def allocate(
    coordinates: Coordinates,
    known: Array,
    theta: Array,
    leader: int,
    rivals: IntArray,
    held: Array,
    start: Array,
    spread: Array,
    look: Look,
) -> tuple[Array, int, Rivals | None]:
    """Weights over the pairs, how many pulls to make, and the rivals that they are meant to settle,
    if any.

    Args:
        known: (n_pairs, dimension) pairs where distance is the standard deviation of a gap
            estimated on past data.
        theta: estimate on past data.
        held: (n_arms, n_leader_pairs) evidence so far, infinite where settled.
        start: (n_pairs,) the last phase's weights.
        spread: (n_pairs,) λ^G.
    """
    standing = _standing(coordinates, known, theta, leader, rivals, held, start, look.size)
    if not len(standing.gaps):  # the leader shares every pair that matters: nothing to steer by
        return spread, round(look.size), None
    horizon = standing.horizon(look)
    pressing = standing.most_pressing(look, horizon)
    target = pressing.rivals(look, horizon)
    weights, lengths = finishing_design(coordinates.rows, start, target)
    return weights, pressing._replace(lengths=lengths).pulls(look), target


def _standing(
    coordinates: Coordinates,
    known: Array,
    theta: Array,
    leader: int,
    rivals: IntArray,
    held: Array,
    design: Array,
    pulls: float,
) -> Standing:
    """How the leader stands, if a phase of so many pulls follows this design."""
    pairs = coordinates.pairs
    reach = whitened(pairs, coordinates.rows, design)
    coming, nothing = reach / math.sqrt(pulls), np.empty((len(pairs), 0))
    directions, gaps, (ahead, behind) = rival_points(
        coordinates, leader, rivals, theta, coming, known, nothing, pairs
    )
    standing = Standing(
        directions.reshape(-1, coordinates.dimension),
        np.maximum(gaps, 1e-9 * np.abs(gaps).max() + 1e-300).ravel(),
        behind.ravel(),
        math.sqrt(pulls) * ahead.ravel(),
        held[rivals].T.ravel(),
    )
    squares = (standing.directions * standing.directions).sum(axis=1)
    open_ = np.isfinite(standing.held) & (squares > (SAME * coordinates.sizes.max()) ** 2)
    return standing if open_.all() else standing.take(np.flatnonzero(open_))
