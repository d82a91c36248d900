"""Where PRIME pulls next: the design most likely to settle all rivals, some exploration, and how many pulls.

Nothing here bears on the guarantee: whatever is chosen from past data is allowed; only the number of pulls depends on
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from surefoot.algorithms.prime_coordinates import Coordinates
from surefoot.algorithms.prime_rivals import rival_points
from surefoot.arrays import Array, IntArray
from surefoot.design.finishing import Rivals, appraised, finishing_design, whitened
from surefoot.design.rounding import round_design
from surefoot.statistics import Counts, information

MOST_RIVALS = 40  # the most pressing ones; the rest are settled on the way
HOPE = 0.6  # look as far ahead as this probability of finishing needs
AHEAD = np.linspace(0.0, 1.0, 24)  # from the next look to a thousand times the data, on a log scale
DOUBT = 0.3  # how much of the gaps' own uncertainty counts
EXPLORATION = 0.04
EXPLORED = 30.0  # units of data after which exploration's share falls
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
PATIENCE = 0.7  # what another phase costs, in planned phases
CHECKS = 2  # pulls a phase at least, on pairs that a wrong model would get wrong
EXCHANGES = 6  # pulls that rounding put wrong, at most
WORTHWHILE = 1.5  # how many times more a pull has to be worth elsewhere
GOLDEN = 0.6180339887498949


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
        directions: (n, dimension) leader's pair minus the rival's most telling point.
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

    def take(self, chosen: IntArray) -> Standing:
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
    known: Array,
    theta: Array,
    leader: int,
    rivals: IntArray,
    held: Array,
    start: Array,
    spread: Array,
    look: Look,
) -> tuple[Array, int, Rivals | None]:
    """Weights over the pairs, how many pulls to make, and the rivals that they are meant to settle, if any.

    Args:
        known: (n_pairs, dimension) pairs where distance is the standard deviation of a gap estimated on past data.
        theta: estimate on past data.
        held: (n_arms, n_leader_pairs) evidence so far, infinite where settled.
        start: (n_pairs,) the last phase's weights.
        spread: (n_pairs,) λ^G.
    """
    standing = _standing(coordinates, known, theta, leader, rivals, held, start, look.size)
    if not len(standing.gaps):  # the leader shares every pair that matters: nothing to steer by
        return spread, round(look.size), None
    rate = look.size / look.weight
    horizon = _horizon(standing, look, rate)
    pressing = standing.take(_most_pressing(standing.scores(look, horizon, horizon * rate)))
    pulls = horizon * rate
    target = Rivals(pressing.directions, pressing.gaps, pressing.needs(look, horizon), pressing.spreads(pulls), pulls)
    weights = finishing_design(coordinates.rows, start, target)
    return weights, _pulls(_relength(pressing, coordinates.rows, weights), look), target


def counts_for(
    weights: Array, pulls: int, spread: Array, past: Counts, units: float, rows: Array, target: Rivals | None
) -> Counts:
    """Round a phase, giving a share of it to pairs that have been pulled least for what they are worth.

    Half of that share follows λ^G, to learn θ; half goes round all pairs, so that a wrong model can be noticed.
    """
    share = EXPLORATION * min(1.0, EXPLORED / max(units, 1e-9))
    explored = min(max(round(share * pulls), CHECKS), pulls // 2)
    main = round_design(_worth_a_pull(weights, pulls), pulls - explored)
    wanted = (spread + 1 / len(spread)) / 2 * share * (past.sum() + pulls)
    aside = _most_wanted(wanted - past - main, explored)
    if target is None:
        return main + aside
    support = np.flatnonzero((weights > 0) | (main + aside > 0))
    main[support] = exchanged(main[support], aside[support], rows[support], target)
    return main + aside


def _worth_a_pull(weights: Array, pulls: int) -> Array:
    """Without the weights that amount to less than half a pull, the largest at least."""
    return np.where(weights >= min(0.5 / pulls, weights.max()), weights, 0.0)


def exchanged(main: Counts, aside: Counts, rows: Array, target: Rivals) -> Counts:
    """Move single pulls from where they are worth least to where they are worth most, beside those set aside.

    Rounding may have taken a tiny weight away without which some rival goes all but unmeasured; the gradient shows it.
    """
    rows, pulls = np.ascontiguousarray(rows), float((main + aside).sum())
    value, worth = appraised(rows, (main + aside) / pulls, target)
    for _ in range(EXCHANGES):
        moved = main.copy()
        giver = int(np.argmin(np.where(main > 0, worth, np.inf)))
        moved[giver] -= 1
        moved[np.argmax(worth)] += 1
        if worth.max() <= WORTHWHILE * worth[giver] or moved[giver] < 0:
            break
        reached, worth = appraised(rows, (moved + aside) / pulls, target)
        if reached <= value:
            break
        main, value = moved, reached
    return main


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
    everywhere, left = divmod(pulls - int(counts.sum()), len(counts))
    counts += everywhere
    counts[order[:left]] += 1
    return counts


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
    reach = whitened(pairs, information(coordinates.rows, design))
    cautious = np.hstack([reach / np.sqrt(pulls), known])
    nothing_hidden = np.empty((len(pairs), 0))
    carried = np.hstack([pairs, reach, known])
    differences, gaps = rival_points(coordinates, leader, rivals, theta, cautious, nothing_hidden, carried)
    parts = differences.reshape(-1, 3, coordinates.dimension)
    directions, (lengths, ahead, behind) = parts[:, 0], np.sqrt((parts**2).sum(axis=2)).T
    standing = Standing(
        directions,
        np.maximum(gaps.ravel(), 1e-9 * np.abs(gaps).max() + 1e-300),
        behind,
        ahead,
        held[rivals].T.ravel(),
    )
    open_ = np.isfinite(standing.held) & (lengths > 1e-9 * coordinates.sizes.max())
    return standing if open_.all() else standing.take(np.flatnonzero(open_))


def _horizon(standing: Standing, look: Look, rate: float) -> float:
    """The least weight ahead at which finishing is likely enough, or where it is likeliest."""
    near = standing.scores(look, look.variance + look.weight, (look.variance + look.weight) * rate)
    pressing = standing.take(_most_pressing(near))
    ahead = look.weight * (1000 * (1 + look.variance / look.weight)) ** AHEAD
    chance = special.log_ndtr(pressing.scores(look, ahead[:, None], ahead[:, None] * rate)).sum(axis=1)
    likely = np.flatnonzero(chance >= np.log(HOPE))
    return float(ahead[likely[0]] if len(likely) else ahead[np.argmax(chance)])


def _most_pressing(scores: Array) -> IntArray:
    if len(scores) <= MOST_RIVALS:
        return np.arange(len(scores))
    return np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS]


def _relength(standing: Standing, rows: Array, weights: Array) -> Standing:
    """The same comparisons under other weights."""
    lengths = np.linalg.norm(whitened(standing.directions, information(rows, weights)), axis=1)
    return Standing(standing.directions, standing.gaps, standing.doubts, lengths, standing.held)


def _pulls(standing: Standing, look: Look) -> int:
    """Fewer pulls than planned where that will do, more where a little more may finish."""
    scores = standing.scores(look, look.weight, SIZES[:, None] * look.size)
    chance = np.exp(special.log_ndtr(scores).sum(axis=1))
    factor = float(SIZES[np.argmin(SIZES + PATIENCE * (1 - chance))]) if chance[-1] > 0.2 else 1.0
    return max(1, round(factor * look.size))
