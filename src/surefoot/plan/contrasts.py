"""Comparisons of a phase: which pair with which, by which contrast, and the gap to expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims, Rows, Stakes
from surefoot.design.whitening import measured_root
from surefoot.plan.clearest import Best, Offer, no_contrasts, take_clearest
from surefoot.plan.view import Space, View
from surefoot.problem.grouping import members_of


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
        race: who they are.
        shares: the mixture of pairs that each arm is compared by: a row for each arm, or one for
            each (own pair, arm), arms fastest. An empty row compares nothing.
        deviation: τ² of the contrast, or one for all.
        gaps: what is expected, beyond the bias.
        doubts: standard deviations of these expectations.
        lengths: standard deviations of the contrasts in the phase; 0 where nothing is measured.
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
        """(n, k) rows of a matrix of all pairs at own pairs, less those of arms' mixtures."""
        n_tested = len(self.race.arms)
        rows = (own * n_tested + arms) % len(self.shares.sizes)
        return np.asarray(matrix[self.race.own[own]] - self.shares.take(rows).dot(matrix))

    def on_pulled(self, own: IntArray, arms: IntArray, pairs: IntArray, n_pairs: int) -> Array:
        """(n, n_pulled) what each compares of the pulled pairs: 1 for its own, less shares."""
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
    best = no_contrasts(len(own), len(arms), int(np.diff(offsets).max(initial=1)))
    tried = [deviation_of(pulled.variances, share) for share in space.tried if len(pulled.pairs)]
    for number, deviation in enumerate(tried):
        offer = _offer(space, view, pulled, deviation, chosen)
        take_clearest(offer, offsets, own, arms, (number, cautious), best)
    deviations = np.zeros(()) if space.exact else np.array([*tried, 0.0])[best.offer]
    shares = _rows(best, space.offsets[race.arms])
    return Compared(race, shares, deviations, best.gaps, best.doubts, best.lengths)


def deviation_of(variances: Array, share: float) -> float:
    """Return the τ² at which a pair of typical variance keeps this share of its own residual."""
    if share >= 1:
        return np.inf
    return len(variances) / float((1 / variances).sum()) * share / (1 - share)


def _offer(space: Space, view: View, pulled: Measured, deviation: float, chosen: IntArray) -> Offer:
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
        return Offer(rows @ root, located, hidden, sizes, expected, weights, place, 0.0)
    kept, own = deviation / total if bounded else total, np.flatnonzero(place >= 0)
    weights = (rows @ root) @ (used @ root / total[:, None]).T
    weights[own] *= (1 - kept[place[own]])[:, None]
    weights[own, place[own]] += kept[place[own]]
    hidden[own] = 0.0
    behind = np.hstack([weights @ view.located[pairs], weights * np.sqrt(view.alone[pairs])])
    ahead, expected = weights * np.sqrt(pulled.variances), weights @ view.means[pairs]
    return Offer(ahead, behind, hidden, sizes, expected, weights, place, space.misfit)


def _rows(best: Best, first: IntArray) -> Rows:
    """Return sparse shares, in the numbers of all pairs; nothing where there is no contrast."""
    n_own, n_tested, most = best.shares.shape
    flat = np.where((best.offer >= 0)[:, :, None], best.shares, 0.0).reshape(-1, most)
    cell, place = np.nonzero(flat)
    starts = np.searchsorted(cell, np.arange(n_own * n_tested + 1))
    return Rows(starts, first[cell % n_tested] + place, flat[cell, place])


def pulls_of(counts: IntArray, batches: int, noise: Array) -> Measured:
    """Return the pairs that are in every batch of a phase, and what it will know of them."""
    pairs = np.flatnonzero(counts >= max(batches, 1))
    return Measured(pairs, noise[pairs] / counts[pairs])
