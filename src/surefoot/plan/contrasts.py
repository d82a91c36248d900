"""Claims of a phase: who is compared with whom, by which contrast, and how far a model is used.

A phase is held against several *offers*: predictors of all means, each with another share of the
pulled pairs' own residuals. For each pair of the leader and each arm, the clearest contrast of all
offers is taken:

    offers:  deviation τ²  →  ahead, behind, expected      (n_pairs, ...)
                                   │  own pair k, arm a
    room:    one row for each pair j of arm a              (most, ...)
                                   │  the clearest row, or mixture of rows
    best:    score, shares, gap, doubt, length             (n_own, n_tested)

In the kernels k is an own pair, a an arm under test, j a pair of that arm, and c a column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Rows, Stakes
from surefoot.design.solver.block_distance import nearest, workspace
from surefoot.design.whitening import measured_root
from surefoot.plan.view import Space, View
from surefoot.problem.grouping import members_of
from surefoot.system.compiled import kernel

SAME = 1e-18  # squared distance between two points, as a share of their squared sizes: rounding
OUTSIDE = 1e-9  # a direction with this share of its length outside the range is not measured
HOPELESS = 0.5  # deviations that a gap may seem below zero and be worth a try


class _Offer(NamedTuple):
    """Predictors of all pairs' means from a phase, with one share of own residuals.

    Attributes:
        ahead: (n_pairs, any) where distance is the deviation of a contrast in the phase.
        behind: (n_pairs, any) where it is the deviation of its expectation by past data.
        hidden: (n_pairs, any) the part that the phase does not measure.
        sizes: (n_pairs,) lengths of the pairs, to hold hidden parts against.
        expected: (n_pairs,) the predictions expected by past data.
        weights: (n_pairs, n_pulled) predictors; no columns where bias does not matter.
        place: (n_pairs,) a pair's place among the pulled ones; −1 for others.
        misfit: ε.
    """

    ahead: Array
    behind: Array
    hidden: Array
    sizes: Array
    expected: Array
    weights: Array
    place: IntArray
    misfit: float


class _Best(NamedTuple):
    """The clearest contrasts so far, (n_own, n_tested) each.

    Attributes:
        scores: gap beyond the bias in deviations, by which they were chosen; −∞: none.
        shares: (n_own, n_tested, most) p over the arm's pairs.
        offer: the number of the offer; −1 where there is no contrast.
        gaps: what is expected beyond the bias.
        doubts: deviations of these expectations.
        lengths: deviations of the contrasts in the phase.
    """

    scores: Array
    shares: Array
    offer: IntArray
    gaps: Array
    doubts: Array
    lengths: Array


class _Room(NamedTuple):
    """Room to work in: one entry for each pair of the largest arm.

    Attributes:
        rows: (most, width) contrasts with single pairs, in deviations.
        worths: (most,) the scores by which they are chosen.
        scaled: (most,) worths in units of the best.
        members: (most,) which of the arm's pairs they are with.
        found, mixed: (most,) shares of the arm's pairs, and of the members.
    """

    rows: Array
    worths: Array
    scaled: Array
    members: IntArray
    found: Array
    mixed: Array


def _no_contrasts(n_own: int, n_tested: int, most: int) -> _Best:
    """Return room for the clearest contrasts of this many pairs, with none found yet."""
    shape = n_own, n_tested
    return _Best(
        np.full(shape, -np.inf), np.zeros((*shape, most)), np.full(shape, -1),
        np.zeros(shape), np.zeros(shape), np.zeros(shape),
    )  # fmt: skip


@kernel
def _take_clearest(
    offer: _Offer,
    offsets: IntArray,
    own: IntArray,
    arms: IntArray,
    number: int,
    cautious: bool,
    best: _Best,
) -> None:
    """Take this offer wherever it is clearer than the best so far.

    Args:
        number: of the offer.
        cautious: whether a gap counts as it seems, against what the phase and the past leave open;
            else it counts as what it may be, the root mean square of its positive part, against
            what the phase leaves open.
    """
    width = offer.ahead.shape[1] + (offer.behind.shape[1] if cautious else 0)
    most = best.shares.shape[2]
    room = _Room(
        np.empty((most, width)), np.empty(most), np.empty(most),
        np.empty(most, dtype=np.int64), np.empty(most), np.empty(most),
    )  # fmt: skip
    work = workspace(width)
    for k in range(len(own)):
        for a in range(len(arms)):
            first, last = offsets[arms[a]], offsets[arms[a] + 1]
            count, clear = _single(offer, own[k], first, last, cautious, room)
            if count == 0:
                continue
            if count > 1 and clear > 0.0:
                for j in range(count):  # the best at 1: the active-set method works there
                    room.scaled[j] = room.worths[j] / clear
                room.mixed[:] = 0.0
                nearest(room.rows[:count], room.scaled[:count], room.mixed[:count], work)
                clear = _mixture(room, count, clear)
            if clear > best.scores[k, a]:
                best.scores[k, a], best.offer[k, a] = clear, number
                best.shares[k, a, : last - first] = room.found[: last - first]
                _describe(offer, own[k], first, room.found[: last - first], best, k, a)


@kernel
def _single(
    offer: _Offer, pair: int, first: int, last: int, cautious: bool, room: _Room
) -> tuple[int, float]:
    """Compare with the arm's single pairs: how many can be, and the clearest one's score."""
    count, top, clear = 0, 0, -np.inf
    for other in range(first, last):
        squared, size, outside = 0.0, 0.0, 0.0
        for c in range(offer.ahead.shape[1]):
            one, two = offer.ahead[pair, c], offer.ahead[other, c]
            room.rows[count, c] = one - two
            squared += (one - two) ** 2
            size += one * one + two * two
        for c in range(offer.hidden.shape[1]):
            outside += (offer.hidden[pair, c] - offer.hidden[other, c]) ** 2
        reach = OUTSIDE * (offer.sizes[pair] + offer.sizes[other])
        if squared <= SAME * size or outside > reach * reach:
            continue
        worth = offer.expected[pair] - offer.expected[other]
        if offer.misfit > 0.0:
            room.found[: last - first] = 0.0
            room.found[other - first] = 1.0
            worth -= offer.misfit * _bias(offer, pair, first, room.found[: last - first])
        if cautious:
            start = offer.ahead.shape[1]
            for c in range(offer.behind.shape[1]):
                apart = offer.behind[pair, c] - offer.behind[other, c]
                room.rows[count, start + c] = apart
                squared += apart * apart
        else:
            doubt = 0.0
            for c in range(offer.behind.shape[1]):
                doubt += (offer.behind[pair, c] - offer.behind[other, c]) ** 2
            worth = _hoped(worth, math.sqrt(doubt))
            if worth == 0.0:
                continue
        room.members[count], room.worths[count] = other - first, worth
        length = math.sqrt(squared)
        if worth > clear * length:
            clear, top = worth / length, count
        count += 1
    room.found[:] = 0.0
    if count > 0:
        room.found[room.members[top]] = 1.0
    return count, clear


@kernel
def _mixture(room: _Room, count: int, clear: float) -> float:
    """Take the mixture in place of the clearest single pair if it is clearer; its score."""
    total, length, worth = room.mixed[:count].sum(), 0.0, 0.0
    for j in range(count):
        worth += room.mixed[j] / total * room.worths[j]
    for c in range(room.rows.shape[1]):
        point = 0.0
        for j in range(count):
            point += room.mixed[j] / total * room.rows[j, c]
        length += point * point
    if length == 0.0 or worth <= clear * math.sqrt(length):
        return clear
    room.found[:] = 0.0
    for j in range(count):
        room.found[room.members[j]] = room.mixed[j] / total
    return worth / math.sqrt(length)


@kernel
def _describe(
    offer: _Offer, pair: int, first: int, shares: Array, best: _Best, k: int, a: int
) -> None:
    """Write gap, doubt and length of the pair against these shares of an arm's pairs."""
    gap, doubt, length = offer.expected[pair], 0.0, 0.0
    for j in range(len(shares)):
        gap -= shares[j] * offer.expected[first + j]
    if offer.misfit > 0.0:
        gap -= offer.misfit * _bias(offer, pair, first, shares)
    for c in range(offer.behind.shape[1]):
        apart = offer.behind[pair, c]
        for j in range(len(shares)):
            apart -= shares[j] * offer.behind[first + j, c]
        doubt += apart * apart
    for c in range(offer.ahead.shape[1]):
        apart = offer.ahead[pair, c]
        for j in range(len(shares)):
            apart -= shares[j] * offer.ahead[first + j, c]
        length += apart * apart
    best.gaps[k, a], best.doubts[k, a], best.lengths[k, a] = (
        gap,
        math.sqrt(doubt),
        math.sqrt(length),
    )


@kernel
def _hoped(gap: float, doubt: float) -> float:
    """Return the root mean square of what a normal gap is above zero; 0 where that is hopeless."""
    if gap <= -HOPELESS * doubt:
        return 0.0
    if doubt <= 1e-9 * gap:
        return gap
    z = gap / doubt
    below = 0.5 * math.erfc(-z / math.sqrt(2.0))
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return doubt * math.sqrt(max((1 + z * z) * below + z * density, 0.0))


@kernel
def _bias(offer: _Offer, pair: int, first: int, shares: Array) -> float:
    """Return ‖a − e_z' + p‖₁ for the contrast of z' with these shares of an arm's pairs."""
    place, weights = offer.place, offer.weights
    total = 0.0 if place[pair] >= 0 else 1.0
    for j in range(len(shares)):
        if place[first + j] < 0:
            total += shares[j]
    for c in range(weights.shape[1]):
        left = weights[pair, c] - (1.0 if place[pair] == c else 0.0)
        for j in range(len(shares)):
            if shares[j] != 0.0:
                own = 1.0 if place[first + j] == c else 0.0
                left -= shares[j] * (weights[first + j, c] - own)
        total += abs(left)
    return total


class Measured(NamedTuple):
    """The pairs that a phase measures.

    Attributes:
        pairs: (n_pulled,) which pairs.
        variances: (n_pulled,) of their means after the phase.
    """

    pairs: IntArray
    variances: Array


class Race(NamedTuple):
    """The leader, the arms that it has to beat, and the evidence so far.

    Attributes:
        leader: the arm whose pairs should win.
        own: (n_own,) its pairs that are not settled against all.
        arms: (n_tested,) the arms under test.
        held: (n_own, n_tested) the evidence so far, infinite where settled.
    """

    leader: int
    own: IntArray
    arms: IntArray
    held: Array


@dataclass(frozen=True, eq=False)
class Compared:
    """A challenger's pairs against arms in one phase, (n_own, n_tested) each.

    Attributes:
        race: the arms.
        shares: the mixture of pairs that each arm is compared by: a row for each arm, or one for
            each (own pair, arm), arms fastest. An empty row compares nothing.
        deviation: τ² of the contrast, or one for all.
        gaps: expected contrasts, beyond the bias.
        doubts: standard deviations of these expectations.
        lengths: standard deviations of the contrasts in the phase; 0 where the phase measures
            nothing of them.
    """

    race: Race
    shares: Rows
    deviation: Array
    gaps: Array
    doubts: Array
    lengths: Array

    def claims(self, clocks: IntArray, stakes: Stakes | None = None) -> Claims:
        """Claim that the own pairs win, with clocks that go on to these points."""
        leader, own, arms, _ = self.race
        return Claims(leader, own, arms, clocks, self.shares, self.deviation, stakes)

    def differences(self, own: IntArray, arms: IntArray, matrix: Array) -> Array:
        """Return (n, k) rows of a matrix of all pairs at own pairs, less those of arms'
        mixtures."""
        n_tested = len(self.race.arms)
        rows = (own * n_tested + arms) % len(self.shares.sizes)
        return np.asarray(matrix[self.race.own[own]] - self.shares.take(rows).dot(matrix))

    def on_pulled(self, own: IntArray, arms: IntArray, pairs: IntArray, n_pairs: int) -> Array:
        """Return (n, n_pulled) weights on the pulled pairs: 1 for its own, less shares."""
        place = np.full(n_pairs, len(pairs))
        place[pairs] = np.arange(len(pairs))
        rows = self.shares.take((own * len(self.race.arms) + arms) % len(self.shares.sizes))
        out = np.zeros((len(own), len(pairs) + 1))
        out[np.arange(len(own)), place[self.race.own[own]]] = 1.0
        row = np.repeat(np.arange(len(own)), rows.sizes)
        np.subtract.at(out, (row, place[rows.columns]), rows.values)
        return out[:, :-1]


def directly(view: View, race: Race, rivals: IntArray, variances: Array) -> Compared:
    """Compare own pairs with one pair of every arm, by the difference of their means.

    Args:
        rivals: (n_tested,) the arms' pairs.
        variances: (n_pairs,) of means after the phase.
    """

    def across(values: Array) -> Array:
        return np.asarray(values[race.own][:, None] + values[rivals])

    shares = Rows(np.arange(len(rivals) + 1), rivals, np.ones(len(rivals)))
    gaps = view.means[race.own][:, None] - view.means[rivals]
    doubts, lengths = np.sqrt(across(view.alone)), np.sqrt(across(variances))
    return Compared(race, shares, np.array(np.inf), gaps, doubts, lengths)


def by_model(space: Space, view: View, race: Race, pulled: Measured, cautious: bool) -> Compared:
    """Compare each own pair with a mixture of each arm's pairs, by the clearest contrast there is.

    Args:
        cautious: whether gaps count as they seem, not as what they may be.
    """
    rivals, offsets = members_of(race.arms, space.offsets)
    chosen = np.concatenate([rivals, race.own])
    own, arms = len(rivals) + np.arange(len(race.own)), np.arange(len(race.arms))
    best = _no_contrasts(len(own), len(arms), int(np.diff(offsets).max(initial=1)))
    tried = [_deviation_of(pulled.variances, share) for share in space.tried if len(pulled.pairs)]
    for number, deviation in enumerate(tried):
        offer = _offer(space, view, pulled, deviation, chosen)
        _take_clearest(offer, offsets, own, arms, number, cautious, best)
    deviations = np.zeros(()) if space.exact else np.array([*tried, 0.0])[best.offer]
    shares = _rows(best, space.offsets[race.arms])
    return Compared(race, shares, deviations, best.gaps, best.doubts, best.lengths)


def _deviation_of(variances: Array, share: float) -> float:
    """Return the τ² at which a pair of typical variance keeps this share of its own residual."""
    if share >= 1:
        return np.inf
    return len(variances) / float((1 / variances).sum()) * share / (1 - share)


def _offer(
    space: Space, view: View, pulled: Measured, deviation: float, chosen: IntArray
) -> _Offer:
    """Predict the means of chosen pairs with variances s + τ²; pulled ones keep their shares."""
    rows, pairs, used = space.features[chosen], pulled.pairs, space.features[pulled.pairs]
    bounded = np.isfinite(deviation)
    total = pulled.variances + deviation if bounded else np.ones(len(pairs))
    root, unmeasured = measured_root(used / np.sqrt(total)[:, None])
    hidden, sizes = rows @ unmeasured, np.linalg.norm(rows, axis=1)
    everywhere = np.full(len(view.means), -1)
    everywhere[pairs] = np.arange(len(pairs))
    place = everywhere[chosen]
    if space.exact:
        located, expected, weights = (
            view.located[chosen],
            view.means[chosen],
            np.zeros((len(chosen), 0)),
        )
        return _Offer(rows @ root, located, hidden, sizes, expected, weights, place, 0.0)
    kept, own = deviation / total if bounded else total, np.flatnonzero(place >= 0)
    weights = (rows @ root) @ (used @ root / total[:, None]).T
    weights[own] *= (1 - kept[place[own]])[:, None]
    weights[own, place[own]] += kept[place[own]]
    hidden[own] = 0.0
    behind = np.hstack([weights @ view.located[pairs], weights * np.sqrt(view.alone[pairs])])
    ahead, expected = weights * np.sqrt(pulled.variances), weights @ view.means[pairs]
    return _Offer(ahead, behind, hidden, sizes, expected, weights, place, space.misfit)


def _rows(best: _Best, first: IntArray) -> Rows:
    """Return sparse shares, in the numbers of all pairs; nothing where there is no contrast."""
    n_own, n_tested, most = best.shares.shape
    flat = np.where((best.offer >= 0)[:, :, None], best.shares, 0.0).reshape(-1, most)
    cell, place = np.nonzero(flat)
    starts = np.searchsorted(cell, np.arange(n_own * n_tested + 1))
    return Rows(starts, first[cell % n_tested] + place, flat[cell, place])


def pulls_of(counts: IntArray, batches: int, noise: Array) -> Measured:
    """Return the pairs that are in every batch of a phase, with the variances of their means."""
    pairs = np.flatnonzero(counts >= max(batches, 1))
    return Measured(pairs, noise[pairs] / counts[pairs])
