"""Shares of pulls: the phases until all comparisons are decided, shares of pairs, whole pulls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from surefoot.arrays import Array, IntArray
from surefoot.plan.contrasts import Compared
from surefoot.statistics import Counts
from surefoot.system.compiled import kernel

ENOUGH = 0.02  # the search stops once the largest relative gradient is this near the mean
LEAST = 1e-9  # share of a pair that may come back
RIDGE = 1e-9  # of the mean information: a direction that is not measured gets a finite length
# sums may be taken in another order: vector units then work on them
REORDERED = {"reassoc", "contract"}


class _Aims(NamedTuple):
    """Comparisons in the order of their deviations.

    Attributes:
        rows: (n_candidates, dimension) features of the pairs that may be pulled.
        noise: (n_candidates,) variances of their means if a phase were theirs alone.
        features: (n, dimension) differences of features that are compared.
        inside: (n, n_candidates) the differences themselves, on these pairs.
        starts: (n_groups + 1,) where comparisons of one deviation begin.
        deviations: (n_groups,) τ²: 0 the fit, ∞ the difference of own means.
    """

    rows: Array
    noise: Array
    features: Array
    inside: Array
    starts: IntArray
    deviations: Array


class _Needs(NamedTuple):
    """Gaps that are expected and evidence that is missing, at some horizon: (n,) each.

    Attributes:
        gaps: expected, positive.
        evidence, wealth: missing, in standard deviations and as the logarithm of a wealth.
        spreads: standard deviations of the evidence to come.
        slope: of evidence in the signal.
        phases: the horizon.
    """

    gaps: Array
    evidence: Array
    wealth: Array
    spreads: Array
    slope: float
    phases: float


@kernel(fastmath=REORDERED)
def _climb(aims: _Aims, needs: _Needs, shares: Array, lengths: Array, steps: int) -> None:
    """Improve the shares in place; write the contrasts' deviations in a phase with these shares."""
    columns = np.ascontiguousarray(aims.rows.T)  # loops over pairs are then loops over neighbours
    (dimension, n), root = columns.shape, math.sqrt(needs.phases)
    variances, precision, kept = np.empty(n), np.empty(n), np.empty(n)
    gradient, squares, weights = np.empty(n), np.empty(n), np.empty(n)
    inverse, left = np.empty((dimension, dimension)), np.empty(dimension)
    for step in range(steps + 1):
        gradient[:] = 0.0
        top = -np.inf
        for i in range(n):
            variances[i] = aims.noise[i] / shares[i]
        for group in range(len(aims.deviations)):
            tau = aims.deviations[group]
            for i in range(n):
                precision[i] = 1.0 if tau == np.inf else 1.0 / (variances[i] + tau)
                kept[i] = 1.0 if tau == np.inf else tau * precision[i]
            _invert_information(columns, precision, inverse)
            for k in range(aims.starts[group], aims.starts[group + 1]):
                left[:] = aims.features[k]
                if tau > 0.0:
                    _leave_own(columns, kept, aims.inside[k], left)
                weights[:] = 0.0
                for a in range(dimension):
                    solved = 0.0
                    for b in range(dimension):
                        solved += inverse[a, b] * left[b]
                    for i in range(n):
                        weights[i] += solved * columns[a, i]
                square = 0.0
                for i in range(n):
                    weight = kept[i] * aims.inside[k, i] + precision[i] * weights[i]
                    squares[i] = weight * weight * variances[i]
                    square += squares[i]
                lengths[k] = math.sqrt(square)
                if step == steps or square <= 0.0:
                    continue
                signal = root * needs.gaps[k] / lengths[k]
                missing = needs.evidence[k] + needs.wealth[k] / signal
                score = (needs.slope * signal - missing) / needs.spreads[k]
                slope = (needs.slope + needs.wealth[k] / signal**2) / needs.spreads[k]
                worth = -(score**2) / 2 - _log_normal(score) + math.log(slope * signal / square)
                if worth > top:  # all are kept relative to the largest
                    shrunk = math.exp(top - worth)
                    for i in range(n):
                        gradient[i] *= shrunk
                    top = worth
                pull = math.exp(worth - top)
                for i in range(n):
                    gradient[i] += pull * squares[i]
        if step == steps or _take_step(gradient, shares):
            return


@kernel
def _take_step(gradient: Array, shares: Array) -> bool:
    """Multiply shares by the roots of their gradients, which came times the shares.

    Returns:
        Whether there was next to nothing to gain: then nothing is changed.
    """
    whole, largest = 0.0, 0.0
    for i in range(len(shares)):
        whole += gradient[i]
        largest = max(largest, gradient[i] / shares[i])
    if largest <= (1 + ENOUGH) * whole:
        return True
    whole = 0.0
    for i in range(len(shares)):
        shares[i] = math.sqrt(shares[i] * gradient[i])
        whole += shares[i]
    if whole <= 0.0:
        shares[:] = 1.0
        whole = float(len(shares))
    again = 0.0
    for i in range(len(shares)):
        shares[i] = max(shares[i] / whole, LEAST)
        again += shares[i]
    for i in range(len(shares)):
        shares[i] /= again
    return False


@kernel(fastmath=REORDERED)
def _leave_own(columns: Array, kept: Array, inside: Array, left: Array) -> None:
    """Subtract from the features the part that pairs' own residuals explain."""
    for i in range(len(kept)):
        own = kept[i] * inside[i]
        if own != 0.0:
            for a in range(len(left)):
                left[a] -= own * columns[a, i]


@kernel(fastmath=REORDERED)
def _invert_information(columns: Array, precision: Array, inverse: Array) -> None:
    """Write the inverse of Σ precision z zᵀ, with a little ridge, by its Cholesky factor."""
    dimension, n = columns.shape
    factor, weighted = np.zeros((dimension, dimension)), np.empty(n)
    trace = 0.0
    for a in range(dimension):
        for i in range(n):
            weighted[i] = precision[i] * columns[a, i]
        for b in range(a + 1):
            total = 0.0
            for i in range(n):
                total += weighted[i] * columns[b, i]
            factor[a, b] = total
        trace += factor[a, a]
    for a in range(dimension):
        factor[a, a] += RIDGE * trace / dimension
    for i in range(dimension):
        for j in range(i + 1):
            left = factor[i, j]
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            factor[i, j] = left / factor[j, j] if i > j else math.sqrt(max(left, 1e-300))
    inverse[:, :] = 0.0
    for column in range(dimension):
        inverse[column, column] = 1.0
        for a in range(column, dimension):
            for b in range(column, a):
                inverse[a, column] -= factor[a, b] * inverse[b, column]
            inverse[a, column] /= factor[a, a]
    for column in range(dimension):
        for a in range(dimension - 1, -1, -1):
            for b in range(a + 1, dimension):
                inverse[a, column] -= factor[b, a] * inverse[b, column]
            inverse[a, column] /= factor[a, a]


@kernel
def _log_normal(t: float) -> float:
    """Return log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)


NOTHING = 1e-9  # of the largest singular value: a direction that pairs do not measure
UNBATCHED = 0.004  # share of the largest count below which a pair does without batches
CHECKS = 2  # pulls of a phase that explore at least


def cumulative(shares: Array, pulls: int) -> Counts:
    """Return (n_pairs,) whole pulls that sum to `pulls`, by rounding the running sum of the shares.

    Neighbours are often nearly alike, and what each of them wants less than a pull of adds up.
    """
    running = np.cumsum(shares)
    rounded = np.floor(running * (pulls / running[-1]) + (0.5 - 1e-9)).astype(np.int64)
    rounded[-1] = pulls
    return np.asarray(np.diff(rounded, prepend=0), dtype=np.int64)


def explored(wanted: Array, past: Counts, pulls: int) -> Counts:
    """Return (n_pairs,) single pulls that level the shortfalls of past ones from the total
    targets."""
    short = wanted - past
    falling = np.sort(short)[::-1]
    levels = (np.cumsum(falling) - pulls) / np.arange(1, len(short) + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return cumulative(np.maximum(short - level, 0.0), pulls)


def in_batches(counts: Counts, rows: Array) -> Array:
    """Return (n_pairs,) whether pairs are pulled enough to be put into batches, in all
    directions."""
    used = counts > UNBATCHED * counts.max()
    if np.linalg.matrix_rank(rows[used]) < rows.shape[1]:
        used = counts > 0
    return np.asarray(used)


def completing(rows: Array, used: IntArray, others: IntArray) -> IntArray:
    """Return as many other pairs as it takes to measure all directions beside those used."""
    basis, sizes, _ = np.linalg.svd(rows[used].T, full_matrices=False)
    basis = basis[:, sizes > NOTHING * sizes.max(initial=0.0)]
    left = rows[others] - rows[others] @ basis @ basis.T
    _, order = linalg.qr(left.T, mode="r", pivoting=True)
    return np.asarray(others[order[: rows.shape[1] - basis.shape[1]]])


MOST_RIVALS = 60  # comparisons that shares are chosen by: the most pressing; others settle by them
STEPS = 100  # of climbing, at most
# sizes that a phase may have, in planned sizes
SIZES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
ANOTHER = 0.7  # cost of another phase, in planned phases
FEEBLE = 0.2  # chance of finishing up to which a phase keeps its planned size


class Lacking(NamedTuple):
    """Evidence that is missing after some phases: (n_horizons, n) each.

    Attributes:
        slope: a.
        evidence: b.
        wealth: c.
    """

    slope: float
    evidence: Array
    wealth: Array


class Ahead(NamedTuple):
    """The phases to come, as clocks see them.

    Attributes:
        phases: (n_horizons,) numbers of phases like the next one that are looked ahead.
        doubling: the number at which data will be about twice what they are.
        lacking: from numbers of phases, (n,) tested arms and (n,) evidence held, to what is
            missing.
    """

    phases: Array
    doubling: float
    lacking: Callable[[Array, IntArray, Array], Lacking]


class Outlook(NamedTuple):
    """Open comparisons, (n,) each, and the phases ahead of them.

    Attributes:
        own, arms: which of the own pairs, and of the tested arms.
        gaps: expected, positive.
        doubts: standard deviations of the expectations.
        lengths: standard deviations in the phase.
        held: evidence so far.
        ahead: the phases to come.
        doubt: share of the gaps' own uncertainty that counts.
    """

    own: IntArray
    arms: IntArray
    gaps: Array
    doubts: Array
    lengths: Array
    held: Array
    ahead: Ahead
    doubt: float

    @classmethod
    def of(
        cls, compared: Compared, ahead: Ahead, tolerance: float, slight: float, doubt: float
    ) -> Outlook:
        """Select the open, measured comparisons; gaps are `slight` of their doubts at least."""
        held = compared.race.held
        own, arms = np.nonzero(np.isfinite(held) & (compared.lengths > 0))
        gaps, doubts = compared.gaps[own, arms] + tolerance, compared.doubts[own, arms]
        least = 1e-9 * np.abs(gaps).max(initial=0.0) + 1e-300
        gaps = np.maximum(gaps, np.maximum(slight * doubts, least))
        lengths = compared.lengths[own, arms]
        return cls(own, arms, gaps, doubts, lengths, held[own, arms], ahead, doubt)

    def pressing(self) -> Outlook:
        """Return those least likely to be settled by the time that data have doubled."""
        if len(self.gaps) <= MOST_RIVALS:
            return self
        scores = self._scores(np.array([self.ahead.doubling]))[0]
        return self.take(np.argpartition(scores, MOST_RIVALS)[:MOST_RIVALS])

    def horizon(self, hope: float) -> float:
        """Return the first number of phases at which finishing is likely enough, or likeliest."""
        chances = special.log_ndtr(self._scores(self.ahead.phases)).sum(axis=1)
        enough = chances >= math.log(hope)
        return float(self.ahead.phases[(enough if enough.any() else chances).argmax()])

    def size(self, lengths: Array) -> float:
        """Return how many planned sizes the phase should have: pulls against another phase.

        Args:
            lengths: (n,) deviations in the phase as planned, with the shares chosen for it.
        """
        scores = self._replace(lengths=lengths)._scores(np.ones(1), SIZES[:, None])
        chances = np.exp(special.log_ndtr(scores).sum(axis=1))
        if chances[-1] <= FEEBLE:
            return 1.0
        costs = SIZES + ANOTHER * (1 - chances)
        return float(SIZES[costs.argmin()])

    def take(self, chosen: IntArray) -> Outlook:
        return self._replace(
            own=self.own[chosen],
            arms=self.arms[chosen],
            gaps=self.gaps[chosen],
            doubts=self.doubts[chosen],
            lengths=self.lengths[chosen],
            held=self.held[chosen],
        )

    def spreads(self, data: Array) -> Array:
        return np.asarray(np.sqrt(1 + self.doubt * data * (self.doubts / self.lengths) ** 2))

    def _scores(self, phases: Array, sizes: Array | float = 1.0) -> Array:
        """Return (n_horizons, n) how likely each is settled after these phases, as normal
        scores."""
        data = phases[:, None] * sizes
        signal = np.sqrt(data) * (self.gaps / self.lengths)
        slope, evidence, wealth = self.ahead.lacking(phases, self.arms, self.held)
        return np.asarray((slope * signal - evidence - wealth / signal) / self.spreads(data))


def climbed(
    outlook: Outlook, compared: Compared, candidates: Pullable, start: Array, horizon: float
) -> tuple[Array, Array]:
    """Return (n_candidates,) shares under which all are likelier settled at the horizon; (n,)
    lengths.

    Args:
        start: (n_candidates,) shares to begin with.
        horizon: in phases.
    """
    deviation = np.broadcast_to(compared.deviation, compared.gaps.shape)
    order = np.argsort(deviation[outlook.own, outlook.arms], kind="stable")
    chosen = outlook.take(order)
    own, arms = chosen.own, chosen.arms
    deviations, starts = np.unique(deviation[own, arms], return_index=True)
    aims = _Aims(
        candidates.features[candidates.pairs],
        candidates.noise / candidates.pulls,
        compared.differences(own, arms, candidates.features),
        compared.on_pulled(own, arms, candidates.pairs, len(candidates.features)),
        np.append(starts, len(order)),
        deviations,
    )
    slope, evidence, wealth = outlook.ahead.lacking(np.array([horizon]), arms, chosen.held)
    spreads = chosen.spreads(np.array([[horizon]]))[0]
    needs = _Needs(chosen.gaps, evidence[0], wealth[0], spreads, slope, horizon)
    shares, lengths = start / start.sum(), np.empty(len(order))
    _climb(aims, needs, shares, lengths, STEPS)
    return shares, lengths[np.argsort(order)]


class Pullable(NamedTuple):
    """The pairs that may be pulled.

    Attributes:
        pairs: (n_candidates,) which.
        noise: (n_candidates,) variances of single pulls.
        features: (n_pairs, dimension) of all pairs.
        pulls: of the phase as planned.
    """

    pairs: IntArray
    noise: Array
    features: Array
    pulls: float
