"""Doubt: rules that lower evidence where rewards may be less normal than it takes them for.

Each phase's score is exact for normal differences. Where they are skewed, short phases, one after
another, may miss a rare reward. So no walk is above the t statistic of all batches so far as one
sample, lowered in three ways: its noise is not far below that of all pulls of its pairs; it is
corrected for skewness; and where a pair is quiet beside others, and few pulls of it say so, it is
the t statistic after one hypothetical low reward. A lowered walk stays below the one that the
theorem bounds, for any data; the kernel takes limits from here, and never lets them raise anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import ROUNDING, normal_scores
from surefoot.problem.grouping import members_of
from surefoot.statistics import Counts, Levels, Outcome, Phase

CLEAR = 2.0  # a skewness below this many standard errors of itself may be chance
CERTAIN = 3.0  # standard errors of a skewness that is spoken of
LOUD = 2.0  # times its noise that of pairs is by chance, where few batches tell of a contrast
LARGEST = 1e90  # cubes up to it are finite


class NormalityPenalty(NamedTuple):
    """Constants by which evidence is lowered where rewards may not be normal.

    Attributes:
        hidden: a skewness seen in n batches may be larger by this share of 1 / √n.
        fall: a fall that may still come: in the largest seen, and where a pair is quiet in the
            largest deviation of any pair of the arms in question.
        quiet: share of that deviation below which a pair is quiet.
        pulls: of a pair, or a difference, that never varied after which no fall is feared any
            more; the fewer, the nearer a pair is to that share.
        shared: whether pulls share streams: differences are rightly quieter than their pairs.
    """

    hidden: float = 5.0
    fall: float = 4.0
    quiet: float = 0.2
    pulls: int = 60
    shared: bool = False


class _Cells(NamedTuple):
    """Places of contrasts among all: a challenger's points, and columns: rival pairs, or arms."""

    challenger: int
    places: IntArray
    columns: IntArray
    arms: IntArray


class _Sums(NamedTuple):
    """Sums over phases of a challenger's contrasts, (n_own, n_columns) each.

    Moments are those of single pulls: the mean of q pulls has a variance of 1/q and a third
    cumulant of 1/q² of theirs. They are pooled, not the phases' own skewnesses: a few values hide
    what is rare, and dividing by their own spread hides it again.

    Attributes:
        freedom: degrees of freedom of the squares.
        squares: about the batches' means.
        known: batches by which the third cumulant is known.
        cubes: likewise.
        gains: weighted contrasts, in the deviation of a single pull.
        reaches: by how much a gap of 1 raises `gains`.
        lopsided: skew factor: by how much a skewness of 1 skews them.
        pulls: single pulls of both pairs.
        leans: own-variance share: of the own pair, weighed by its degrees of freedom.
        falls: deepest drop of a contrast of single pulls.
    """

    freedom: Array
    squares: Array
    known: Array
    cubes: Array
    gains: Array
    reaches: Array
    lopsided: Array
    pulls: Array
    leans: Array
    falls: Array

    def at(self, cells: tuple[Any, ...]) -> _Sums:
        return _Sums(*(each[cells] for each in self))

    @property
    def spread(self) -> Array:
        """Deviations of contrasts of single pulls."""
        return np.asarray(np.sqrt(self.squares / np.maximum(self.freedom, 1)))

    def skewness(self, clear: float = CLEAR) -> Array:
        """Return the skewness that is left beyond chance: that many standard errors of it."""
        size = self.known * self.spread**3
        seen = (size > 0) & np.isfinite(size)  # cubes of tiny or huge sizes may be neither
        raw = np.divide(self.cubes, size, out=np.zeros_like(size), where=seen)
        chance = clear * np.sqrt(6 / np.maximum(self.known, 1e-300))
        return np.asarray(np.sign(raw) * np.maximum(np.abs(raw) - chance, 0.0))


class _Sample(NamedTuple):
    """All batches of some comparisons.

    Attributes:
        sums: (n_own, n_columns) of the tested arms' columns.
        times: (n_tested,) that clocks went on.
        starts: (n_tested,) where the columns of each tested arm begin.
        tolerance: added to contrasts where they are eased.
    """

    sums: _Sums
    times: Array
    starts: IntArray
    tolerance: float

    def of_arms(self, values: Array) -> Array:
        """Return (n_own, n_tested) sums over the columns of each arm."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))

    @property
    def roots(self) -> Array:
        """(n_tested,) of the times; 1 where nothing was gained in no time."""
        return np.sqrt(np.where(self.times > 0, self.times, 1.0))

    def statistics(self, spread: Array) -> Array:
        """Return (2, n_own, n_tested) t statistics by these deviations, plain and eased."""
        inverse = _inverse(spread, self.sums.gains)
        plain = self.of_arms(inverse * self.sums.gains) / self.roots
        eased = self.tolerance * self.of_arms(inverse * self.sums.reaches) / self.roots
        return np.stack([plain, plain + eased])

    def corrected(self, t: Array, skewness: Array) -> Array:
        """Return them corrected for a skewness of single pulls."""
        shape = self.of_arms(skewness * self.sums.lopsided)
        return _corrected(t, shape / self.roots**3 / 3)

    def fallen(self, t: Array, spread: Array, fall: Array) -> Array:
        """Return them as they would be after one more value that far below."""
        sizes = np.maximum(self.of_arms(self.sums.pulls), 2.0)
        inverse = _inverse(spread, self.sums.gains)
        far = self.of_arms(fall * inverse * self.sums.pulls) / sizes
        return np.where(far > 0, _after_a_fall(t, sizes, far), t)

    def walks(self, t: Array) -> Array:
        """Return the walks that t statistics of the whole sample make."""
        freedom = np.maximum(self.of_arms(self.sums.freedom), 1)
        return np.asarray(self.roots * normal_scores(t, freedom))


class Doubt:
    """Limits of every challenger's sums: at most the t statistic of all its batches.

    Args:
        offsets: (n_arms + 1,) where the points of each arm begin.
        paired: whether points are pairs that are compared one by one: then the noise of every pair
            is followed.
        tolerance: added to contrasts where they are eased.
        suspicion: penalties for non-normal rewards.
        n_pairs: the number of pairs; None: that of points.
    """

    def __init__(
        self,
        offsets: IntArray,
        paired: bool,
        tolerance: float,
        suspicion: NormalityPenalty,
        n_pairs: int | None = None,
    ) -> None:
        self._sizes, self._pairs = np.diff(offsets), offsets
        self._offsets = offsets if paired else np.arange(len(offsets))
        self._paired, self._tolerance, self._suspicion = paired, tolerance, suspicion
        self.levels = Levels.unknown(int(offsets[-1]) if n_pairs is None else n_pairs)
        self._sums: dict[int, tuple[_Sums, Array]] = {}  # and times that clocks went on
        self._unit = 0.0  # of contrasts: their cubes shall be finite
        self._guesses_are_blind = False

    def see(self, outcome: Outcome) -> None:
        """Take note of a phase, before its claims are scored; a pilot is seen as well."""
        self._guesses_are_blind = not self.levels.scatter.any()
        self.levels = self.levels.after(outcome)

    def limits(self, claims: Claims, said: Contrasts, root: Array, phase: Phase) -> Array:
        """Return (n_kinds, n_own, n_tested) limits of the sums after a phase in batches.

        Args:
            said: its contrasts; their variances as guessed, and if all pairs had variance 1.
            root: (n_tested,) the factors of its scores.
        """
        where, half = self._cells(claims), phase.batches / 2
        guessed, layout = half * said.variances
        if self._guesses_are_blind:  # before any replicate, the phase has to say it itself
            guessed = said.values.var(axis=0)
        measured = (layout > 0) & (guessed > 0)
        units = np.ones_like(layout)
        if not self._paired:
            units = np.sqrt(np.divide(guessed, layout, out=units, where=measured))
        units = units * self._unit_for(said.values / units)
        layout = np.where(measured, layout, np.inf)
        leans = self._leans(claims, where, phase.counts)
        self._count(where, said.values / units, layout, units, root**2, leans)
        limits = self._limits(where)
        return limits if self._tolerance > 0 else limits[:1]

    def skewness(self, challenger: int) -> float:
        """Return the largest skewness of a challenger's differences that is certainly no chance.

        There are many, and of many the largest seems skewed.
        """
        if challenger not in self._sums:
            return 0.0
        sums, _ = self._sums[challenger]
        found = np.where(sums.skewness(CERTAIN) != 0, sums.skewness(), 0.0).ravel()
        return float(found[np.abs(found).argmax()])

    def skewnesses(self, challenger: int) -> Array:
        """Return (n_own, n_columns) skewnesses of a challenger's contrasts; 0 where none is
        clear."""
        if challenger not in self._sums:
            return np.zeros((self._sizes[challenger], self._offsets[-1]))
        return self._sums[challenger][0].skewness()

    def _of(self, challenger: int) -> tuple[_Sums, Array]:
        if challenger not in self._sums:
            shape = (len(_Sums._fields), self._sizes[challenger], self._offsets[-1])
            self._sums[challenger] = _Sums(*np.zeros(shape)), np.zeros(len(self._sizes))
        return self._sums[challenger]

    def _cells(self, claims: Claims) -> _Cells:
        """Tell contrasts apart by the pair that each arm is mainly compared by, or by arms."""
        places = claims.points - self._pairs[claims.challenger]
        columns = claims.arms
        if self._paired:
            shares = claims.shares
            row = np.repeat(np.arange(len(shares.sizes)), shares.sizes) % len(claims.arms)
            order = np.argsort(shares.values, kind="stable")
            columns = self._pairs[claims.arms].copy()
            columns[row[order]] = shares.columns[order]
        return _Cells(claims.challenger, places, columns, claims.arms)

    def _leans(self, claims: Claims, where: _Cells, counts: Counts) -> Array | float:
        """Return by how much the own pair's variance enters a contrast's: 1 for equal pulls, the
        rest of 2 is the rival's.
        """
        if not self._paired:
            return 1.0
        own, rivals = (1 / np.maximum(counts[pairs], 1) for pairs in (claims.points, where.columns))
        return np.asarray(2 * own[:, None] / (own[:, None] + rivals))

    def _unit_for(self, values: Array) -> float:
        """Return one power of two for all phases: dividing by it changes no digit."""
        if not self._unit:
            size = float(np.abs(values).max(initial=0.0))
            self._unit = 2.0 ** int(np.log2(size)) if size > 0 else 0.0
        return self._unit or 1.0

    def _count(
        self,
        where: _Cells,
        values: Array,
        layout: Array,
        units: Array,
        steps: Array,
        leans: Array | float,
    ) -> None:
        """Count a phase's (n_batches, n_own, n_tested) contrasts.

        Args:
            layout: (n_own, n_tested) variances of batches in those of single pulls; infinite where
                nothing is measured.
        """
        m, measured = len(values), np.isfinite(layout)
        sums, times = self._of(where.challenger)
        cells = np.ix_(where.places, where.columns)
        mean, reach = values.mean(axis=0), np.sqrt(steps * m / layout)
        varies = np.ptp(values, axis=0) > ROUNDING * np.abs(values).max(axis=0)
        centred = np.where(varies, values - mean, 0.0)
        squares, cubes = (centred**2).sum(axis=0), (centred**3).sum(axis=0)
        # cumulants of phases are weighed by how well each is known
        new = _Sums(
            freedom=np.where(measured, m - 1, 0),
            squares=squares / layout,
            known=np.where(measured, m * layout, 0.0),
            cubes=m * m / ((m - 1) * max(m - 2, 1)) * cubes / layout,
            gains=reach * mean,
            reaches=reach / units,
            lopsided=steps**1.5 * np.sqrt(np.where(measured, layout, 0.0) / m),
            pulls=m / layout,
            leans=np.where(measured, (m - 1) * leans, 0.0),
            falls=np.maximum(-centred.min(axis=0) / layout - sums.falls[cells], 0.0),
        )
        for row, gain in zip(sums, new, strict=True):
            row[cells] += gain
        times[where.arms] += steps

    def _limits(self, where: _Cells) -> Array:
        """Return (2, n_own, n_tested) the walks if all batches so far had been one phase."""
        columns, starts = members_of(where.arms, self._offsets)
        sums, times = self._sums[where.challenger]
        cells = np.ix_(where.places, columns)
        sample = _Sample(sums.at(cells), times[where.arms], starts[:-1], self._tolerance)
        spread, own = sample.sums.spread, self._offsets[where.challenger] + where.places
        t = sample.statistics(spread)
        if self._paired and not self._suspicion.shared:
            louder = self._by_pairs(sample.sums, own, columns)
            louder = np.where(louder > LOUD * spread, louder, spread)
            t = np.minimum(t, sample.statistics(louder))
        seen = sample.fallen(t, spread, self._suspicion.fall * sample.sums.falls)
        limits = np.maximum(sample.corrected(t, self._feared(sample.sums)), seen)
        if self._paired:
            feared = self._unseen(where.challenger, own, columns, sample.sums)
            limits = np.minimum(limits, sample.fallen(t, spread, feared))
        return sample.walks(np.minimum(t, limits))

    def _by_pairs(self, sums: _Sums, own: IntArray, columns: IntArray) -> Array:
        """Return (n_own, n_columns) deviations of contrasts by all pulls of their pairs: what is
        rare may have been seen elsewhere, in a pilot or against another arm.
        """
        lean = sums.leans / np.maximum(sums.freedom, 1)
        deviations = self.levels.deviations / (self._unit or 1.0)
        of_rivals = np.sqrt(2 - lean) * deviations[columns]
        return np.hypot(np.sqrt(lean) * deviations[own][:, None], of_rivals) * (sums.freedom > 0)

    def _unseen(self, challenger: int, own: IntArray, columns: IntArray, sums: _Sums) -> Array:
        """Return (n_own, n_columns) a fall that may still come where one of the pairs was quiet in
        a few pulls, or their difference never varied: as large as the noise of these arms makes
        likely. 0 elsewhere.
        """
        levels, (_, fall, quiet, pulls, _) = self.levels, self._suspicion
        mine = np.arange(self._offsets[challenger], self._offsets[challenger + 1])
        largest = levels.deviations[np.concatenate([mine, columns])].max()
        loud = levels.deviations / max(quiet * largest, 1e-300)
        asked = pulls * (1 - np.where(levels.silent, 0.0, loud))
        feared = (levels.counts < asked) & (largest > 0)
        largest = largest / (self._unit or 1.0)
        still = sums.spread <= ROUNDING * np.abs(sums.gains)
        still &= np.minimum(levels.counts[own][:, None], levels.counts[columns]) < pulls
        return np.where(feared[own][:, None] | feared[columns] | still, fall * largest, 0.0)

    def _feared(self, sums: _Sums) -> Array:
        """Return the largest plausible skewness: a few batches hide rare rewards."""
        hidden = self._suspicion.hidden / np.sqrt(sums.known + 1)
        return np.asarray(sums.skewness() * (1 + hidden))


def _inverse(spread: Array, gains: Array) -> Array:
    """Return one over the spread, which is rounding at least; 0 where nothing was gained."""
    spread = np.maximum(spread, ROUNDING * np.abs(gains))
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def _after_a_fall(t: Array, m: Array, far: Array) -> Array:
    """Return t statistics of m values as they would be after one more, that many deviations below.

    Where differences are so large that even this would not matter, skewness does not matter.
    """
    known = np.minimum(far, LARGEST)
    mean = t / np.sqrt(m) - known / (m + 1)
    return np.asarray(mean / np.sqrt((m - 1 + m / (m + 1) * known**2) / m / (m + 1)))


def _corrected(t: Array, a: Array) -> Array:
    """Return a t statistic of skewed values by Hall's (1992) monotone cubic, held at its plateau.

    With a third of the skewness of their mean as a, it is t + a t² + a² t³ / 3 + a / 2. Its
    slope is (1 + a t)²: for a negative a it is flat at t = 1 / |a|, and beyond that it would rise
    above t again.
    """
    level = np.where(a < 0, np.minimum(t, 1 / np.maximum(-a, 1e-300)), t)
    level = np.clip(level, -LARGEST, LARGEST)
    return np.asarray(level + a * level**2 + a**2 * level**3 / 3 + a / 2)
