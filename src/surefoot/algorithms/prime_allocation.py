"""Where PRIME pulls next: the design most likely to settle all rivals, some exploration, and how many pulls.

Nothing here bears on the guarantee: whatever is chosen from past data is allowed; only the number of pulls depends on
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot.algorithms.prime_coordinates import Coordinates
from surefoot.algorithms.prime_rivals import clearest_vertices
from surefoot.design.finishing import Rivals, finishing_design
from surefoot.design.rounding import round_design
from surefoot.statistics import Array, Counts, information

MOST_RIVALS = 64  # the most pressing ones; the rest are settled on the way
HOPE = 0.6  # look as far ahead as this probability of finishing needs
DOUBT = 0.3  # how much of the gaps' own uncertainty counts
EXPLORATION = 0.1
EXPLORED = 20.0  # units of data after which exploration's share falls
SMALLEST_SHARE = 0.02  # weights below this share of the largest are rounding noise
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
CHECKS = 2  # pulls a phase at least, on pairs that a wrong model would get wrong
GOLDEN = 0.6180339887498949
PATIENCE = 0.7  # what another phase costs, in planned phases


@dataclass(frozen=True, eq=False)
class Look:
    """Where the walk stands before a phase.

    Attributes:
        variance: V so far.
        weight: what the next phase adds to V.
        size: its planned pulls.
        boundary: the c it will be held to.
        units: data so far, in units of the smallest phase.
    """

    variance: float
    weight: float
    size: float
    boundary: float
    units: float


@dataclass(frozen=True, eq=False)
class Standing:
    """What past data say about the leader's comparisons: one entry for each (leader's pair, rival arm).

    Attributes:
        directions: (n, dimension) leader's pair minus the rival's most telling pair.
        gaps: (n,) estimated gaps, positive.
        doubts: (n,) standard deviations of those gaps.
        lengths: (n,) ‖direction‖ under the design in hand.
        held: (n,) evidence so far.
    """

    directions: Array
    gaps: Array
    doubts: Array
    lengths: Array
    held: Array

    def take(self, chosen: NDArray[np.int64]) -> Standing:
        return Standing(
            self.directions[chosen], self.gaps[chosen], self.doubts[chosen], self.lengths[chosen], self.held[chosen]
        )

    def scores(self, look: Look, weight: ArrayLike, pulls: ArrayLike) -> Array:
        """How likely each comparison is settled after that much more weight and that many pulls, as normal scores.

        Weights and pulls may be columns: one row of scores for each.
        """
        needs = self.needs(look, weight)
        return np.asarray((np.sqrt(pulls) * (self.gaps / self.lengths) - needs) / self.spreads(pulls))

    def needs(self, look: Look, weight: ArrayLike) -> Array:
        """Evidence missing at that much more weight, in standard deviations of what it adds."""
        return np.asarray((look.boundary * np.sqrt(look.variance + np.asarray(weight)) - self.held) / np.sqrt(weight))

    def spreads(self, pulls: ArrayLike) -> Array:
        """Standard deviation of what that many pulls add, some of the gaps' own uncertainty included."""
        return np.asarray(np.sqrt(1 + DOUBT * np.asarray(pulls) * (self.doubts / self.lengths) ** 2))


def allocate(
    coordinates: Coordinates,
    past: Counts,
    theta: Array,
    leader: int,
    rivals: NDArray[np.int64],
    held: Array,
    start: Array,
    spread: Array,
    look: Look,
) -> tuple[Array, int]:
    """Weights over the pairs, and how many pulls to make.

    Args:
        past: (n_pairs,) pulls so far.
        theta: estimate on past data.
        held: (n_arms, n_leader_pairs) evidence so far.
        start: (n_pairs,) the last phase's weights.
        spread: (n_pairs,) λ^G.
    """
    design = 0.9 * start + 0.1 * spread
    standing = _standing(coordinates, past, theta, leader, rivals, held, design)
    if not len(standing.gaps):  # the leader shares every pair that matters: nothing to steer by
        return spread, round(look.size)
    rate = look.size / look.weight
    horizon = _horizon(standing, look, rate)
    pressing = standing.take(_most_pressing(standing.scores(look, horizon, horizon * rate)))
    pulls = horizon * rate
    target = Rivals(pressing.directions, pressing.gaps, pressing.needs(look, horizon), pressing.spreads(pulls), pulls)
    weights = finishing_design(coordinates.rows, design, target)
    weights = np.where(weights >= SMALLEST_SHARE * weights.max(), weights, 0.0)
    weights /= weights.sum()
    return weights, _pulls(_relength(pressing, coordinates.rows, weights), look)


def counts_for(weights: Array, pulls: int, spread: Array, past: Counts, units: float) -> Counts:
    """Round a phase, giving a share of it to pairs that have been pulled least for what they are worth.

    Half of that share follows λ^G, to learn θ; half goes round all pairs, so that a wrong model can be noticed.
    """
    share = EXPLORATION * min(1.0, float(np.sqrt(EXPLORED / max(units, 1e-9))))
    explored = min(max(round(share * pulls), CHECKS), pulls // 2)
    main = round_design(weights, pulls - explored)
    wanted = (spread + 1 / len(spread)) / 2 * share * (past.sum() + pulls)
    return main + _most_wanted(wanted - past - main, explored)


def check_pulls(counts: Counts, pulls: int) -> Counts:
    """Single pulls of pairs that a design left out, spread over all of them."""
    return _most_wanted(-counts.astype(np.float64), min(pulls, int((counts == 0).sum())))


def _most_wanted(wanted: Array, pulls: int) -> Counts:
    """The pulls go to the most wanted pairs in turn, among equals in an order that jumps about evenly."""
    whole = np.maximum(np.floor(wanted), 0.0)
    if whole.sum() > pulls:
        return round_design(whole / whole.sum(), pulls)
    counts = whole.astype(np.int64)
    scattered = (np.arange(len(wanted)) * GOLDEN) % 1.0
    order = np.lexsort((scattered, -np.round(wanted - whole, 3)))
    counts[order[: pulls - int(counts.sum())]] += 1
    return counts


def _standing(
    coordinates: Coordinates,
    past: Counts,
    theta: Array,
    leader: int,
    rivals: NDArray[np.int64],
    held: Array,
    design: Array,
) -> Standing:
    pairs, rows, offsets = coordinates.pairs, coordinates.rows, coordinates.offsets
    own = np.arange(offsets[leader], offsets[leader + 1])
    chosen, lengths = np.empty((len(own), len(rivals)), dtype=np.int64), np.empty((len(own), len(rivals)))
    means = pairs @ theta
    clearest_vertices(_whitened(pairs, information(rows, design)), means, own, rivals, offsets, chosen, lengths)
    directions = (pairs[own][:, None, :] - pairs[chosen]).reshape(-1, coordinates.dimension)
    gaps = (means[own][:, None] - means[chosen]).ravel()
    standing = Standing(
        directions,
        np.maximum(gaps, 1e-9 * np.abs(gaps).max() + 1e-300),
        np.linalg.norm(_whitened(directions, information(rows, past)), axis=1),
        lengths.ravel(),
        held[rivals].T.ravel(),
    )
    differ = np.linalg.norm(directions, axis=1) > 1e-9 * coordinates.sizes.max()
    return standing if differ.all() else standing.take(np.flatnonzero(differ))


def _whitened(points: Array, matrix: Array) -> Array:
    """The points where the norm of the matrix's inverse becomes length; a little ridge in case it is singular."""
    ridge = 1e-9 * np.trace(matrix) / len(matrix)
    factor = np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)))
    return np.ascontiguousarray(np.linalg.solve(factor, points.T).T)


def _horizon(standing: Standing, look: Look, rate: float) -> float:
    """The least weight ahead at which finishing is likely enough, or where it is likeliest."""
    near = standing.scores(look, look.variance + look.weight, (look.variance + look.weight) * rate)
    pressing = standing.take(_most_pressing(near))
    ahead = np.geomspace(look.weight, 1000 * (look.variance + look.weight), 24)
    chance = special.log_ndtr(pressing.scores(look, ahead[:, None], ahead[:, None] * rate)).sum(axis=1)
    likely = np.flatnonzero(chance >= np.log(HOPE))
    return float(ahead[likely[0]] if len(likely) else ahead[np.argmax(chance)])


def _most_pressing(scores: Array) -> NDArray[np.int64]:
    if len(scores) <= MOST_RIVALS:
        return np.arange(len(scores))
    return np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS]


def _relength(standing: Standing, rows: Array, weights: Array) -> Standing:
    """The same comparisons under other weights."""
    lengths = np.linalg.norm(_whitened(standing.directions, information(rows, weights)), axis=1)
    return Standing(standing.directions, standing.gaps, standing.doubts, lengths, standing.held)


def _pulls(standing: Standing, look: Look) -> int:
    """Fewer pulls than planned where that will do, more where a little more may finish."""
    scores = standing.scores(look, look.weight, SIZES[:, None] * look.size)
    chance = np.exp(special.log_ndtr(scores).sum(axis=1))
    factor = float(SIZES[np.argmin(SIZES + PATIENCE * (1 - chance))]) if chance[-1] > 0.2 else 1.0
    return max(1, round(factor * look.size))
