"""Which contrast says most, for every pair z' against every arm, under one predictor.

Compiled, because a run asks for every (z', arm) and every predictor again and again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.rivals import OUTSIDE, SAME
from surefoot.arrays import Array, IntArray
from surefoot.design.solver.block_distance import nearest, workspace
from surefoot.system.compiled import kernel


class View(NamedTuple):
    """What is known before a phase.

    Attributes:
        pairs: (n_pairs, dimension) features, of length 1 at most.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        means: (n_pairs,) expected rewards.
        located: (n_pairs, dimension) where squared distances, together with what both pairs have
            of `alone`, are variances of expected differences.
        alone: (n_pairs,) variances that each pair has for itself.
        noise: (n_pairs,) variances of single pulls.
        misfit: ε.
        own: (n_tried,) shares of a pair's own residual that contrasts try.
        hopeless: standard deviations that a gap may seem below zero and be worth a try.
    """

    pairs: Array
    offsets: IntArray
    means: Array
    located: Array
    alone: Array
    noise: Array
    misfit: float
    own: Array
    hopeless: float


class Pulled(NamedTuple):
    """What a phase is to pull.

    Attributes:
        pairs: (n_pulled,) which pairs.
        variances: (n_pulled,) of their means after the phase.
        place: (n_pairs,) a pair's place among the pulled ones; −1 if it is none.
    """

    pairs: IntArray
    variances: Array
    place: IntArray


class Offer(NamedTuple):
    """A predictor, and what it makes of the expected means.

    Attributes:
        weights, hidden: as those of a `Predictor`.
        expected: (n_pairs,) predicted means.
        located: (n_pairs, rank) where these are, as `View.located` is.
    """

    weights: Array
    hidden: Array
    expected: Array
    located: Array


class Best(NamedTuple):
    """The clearest contrasts so far.

    Attributes:
        scores: (n_own, n_tested) hope of a gap beyond the bias, in deviations.
        shares: (n_own, n_pairs) p, for each arm on its own pairs.
        offer: (n_own, n_tested) which offer it is; −1 for none.
    """

    scores: Array
    shares: Array
    offer: IntArray


class Room(NamedTuple):
    """Room to work in: one entry for each pair of the largest arm.

    Attributes:
        rows: (most, n_pulled) contrasts with single pairs, in deviations.
        hopes: (most,) what they may show beyond their bias; scaled: the same, the best at 1.
        members: (most,) which of the arm's pairs they are with.
        found, mixed: (most,) shares of the arm's pairs: the clearest, and a mixture.
        root: (n_pulled,) deviations of the pulled pairs' means.
    """

    rows: Array
    hopes: Array
    scaled: Array
    members: IntArray
    found: Array
    mixed: Array
    root: Array


@kernel
def clearest(
    view: View, pulled: Pulled, offer: Offer, what: tuple[IntArray, IntArray, int], best: Best
) -> None:
    """Take this offer wherever it gives more hope, in deviations, than the best so far.

    Args:
        what: the challenger's pairs, the arms, and the number of the offer.
    """
    (own, arms, number), offsets = what, view.offsets
    most = np.int64(1)
    for arm in arms:
        most = max(most, offsets[arm + 1] - offsets[arm])
    room = Room(
        np.empty((most, len(pulled.pairs))),
        np.empty(most),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(most),
        np.empty(most),
        np.sqrt(pulled.variances),
    )
    work = workspace(len(pulled.pairs))
    for k in range(len(own)):
        for a in range(len(arms)):
            first, last = offsets[arms[a]], offsets[arms[a] + 1]
            count, clear = _single(view, pulled, offer, (own[k], first, last), room)
            if count > 1 and clear > 0.0:
                for j in range(count):  # the best at gap 1: the active-set method works there
                    room.scaled[j] = room.hopes[j] / clear
                room.mixed[:] = 0.0
                nearest(room.rows[:count], room.scaled[:count], room.mixed[:count], work)
                clear = _mixture(room, count, last - first, clear)
            if clear > best.scores[k, a]:
                best.scores[k, a], best.offer[k, a] = clear, number
                best.shares[k, first:last] = room.found[: last - first]


@kernel
def _single(
    view: View, pulled: Pulled, offer: Offer, where: tuple[int, int, int], room: Room
) -> tuple[int, float]:
    """Compare with the arm's single pairs: how many can be, and the clearest one's score."""
    pair, first, last = where
    count, top, clear = 0, 0, 0.0
    for other in range(first, last):
        length = _row(pulled, offer, pair, other, room.root, room.rows[count])
        if length == 0.0:
            continue
        room.found[:] = 0.0
        room.found[other - first] = 1.0
        bias = size_of_bias(pulled, offer, pair, first, room.found[: last - first])
        gap = offer.expected[pair] - offer.expected[other] - view.misfit * bias
        doubt = _doubt(view, pulled, offer, pair, other)
        room.hopes[count] = _hope(gap, doubt, view.hopeless)
        if room.hopes[count] == 0.0:
            continue
        room.members[count] = other - first
        if room.hopes[count] > clear * length:
            clear, top = room.hopes[count] / length, room.members[count]
        count += 1
    room.found[:] = 0.0
    if count > 0:
        room.found[top] = 1.0
    return count, clear


@kernel
def _mixture(room: Room, count: int, size: int, clear: float) -> float:
    """Take the mixture in place of the clearest single pair if it is clearer; its score."""
    total, length, hope = room.mixed[:count].sum(), 0.0, 0.0
    for j in range(count):
        hope += room.mixed[j] / total * room.hopes[j]
    for c in range(room.rows.shape[1]):
        point = 0.0
        for j in range(count):
            point += room.mixed[j] / total * room.rows[j, c]
        length += point * point
    if length == 0.0 or hope <= clear * np.sqrt(length):
        return clear
    room.found[:size] = 0.0
    for j in range(count):
        room.found[room.members[j]] = room.mixed[j] / total
    return float(hope / np.sqrt(length))


@kernel
def _hope(gap: float, spread: float, hopeless: float) -> float:
    """Root mean square of what a normal gap is above zero; 0 where that is hardly possible.

    A contrast is worth trying for what it may show: data so far may well have missed the gap.
    """
    if gap <= -hopeless * spread:
        return 0.0
    if spread <= 1e-9 * gap:
        return gap
    z = gap / spread
    below = 0.5 * math.erfc(-z / math.sqrt(2.0))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return spread * math.sqrt(max((1 + z * z) * below + z * density, 0.0))


@kernel
def _doubt(view: View, pulled: Pulled, offer: Offer, pair: int, other: int) -> float:
    """How well data so far know the mean of a contrast: its standard deviation."""
    squared = 0.0
    for c in range(offer.located.shape[1]):
        squared += (offer.located[pair, c] - offer.located[other, c]) ** 2
    for c in range(len(pulled.pairs)):
        weight = offer.weights[pair, c] - offer.weights[other, c]
        squared += weight * weight * view.alone[pulled.pairs[c]]
    return math.sqrt(squared)


@kernel
def _row(pulled: Pulled, offer: Offer, pair: int, other: int, root: Array, out: Array) -> float:
    """Write the contrast in deviations; return its length, 0 for none or an unmeasured one."""
    weights, hidden = offer.weights, offer.hidden
    squared, size, outside = 0.0, 0.0, 0.0
    for c in range(len(out)):
        out[c] = (weights[pair, c] - weights[other, c]) * root[c]
        squared += out[c] ** 2
        size += (weights[pair, c] ** 2 + weights[other, c] ** 2) * pulled.variances[c]
    for c in range(hidden.shape[1]):
        outside += (hidden[pair, c] - hidden[other, c]) ** 2
    if squared <= SAME * size or outside > OUTSIDE**2:
        return 0.0
    return float(np.sqrt(squared))


@kernel
def size_of_bias(pulled: Pulled, offer: Offer, pair: int, first: int, shares: Array) -> float:
    """b = ‖a − e_{z'} + p‖₁ for the contrast of z' with these shares of an arm's pairs."""
    place, weights = pulled.place, offer.weights
    total = 0.0 if place[pair] >= 0 else 1.0
    for j in range(len(shares)):
        if place[first + j] < 0:
            total += shares[j]
    for c in range(weights.shape[1]):
        left = weights[pair, c] - (1.0 if place[pair] == c else 0.0)
        for j in range(len(shares)):
            if shares[j] != 0.0:
                left -= shares[j] * (
                    weights[first + j, c] - (1.0 if place[first + j] == c else 0.0)
                )
        total += abs(left)
    return total
