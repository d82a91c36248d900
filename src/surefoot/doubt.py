"""Doubt: rules that lower evidence where rewards may be less normal than it takes them for.

Each phase's score is exact for normal differences. Where they are skewed, a short phase misses what
is rare, and one phase after another may. The batches of all phases together miss less: a fall that
comes late then counts against what was believed before it. A walk that is lowered stays below the
one that the theorem bounds, whatever data lowered it; the kernel takes limits from here, and never
lets them raise anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims
from surefoot.certify.contrast import Contrasts
from surefoot.certify.score import ROUNDING, normal_scores
from surefoot.problem.grouping import members_of
from surefoot.statistics import Counts, Outcome, Phase

CLEAR = 2.0  # a skewness below this many standard errors of itself may be chance
CERTAIN = 3.0  # standard errors of a skewness that is spoken of
LARGEST = 1e90  # cubes are finite; what is beyond says no more


class Suspicion(NamedTuple):
    """The degree to which what was seen of a shape is doubted.

    Attributes:
        clear: standard errors of a skewness that may be chance.
        hidden: a skewness seen in n batches may be larger by this share of 1 / √n.
        fall: a fall that may still come, in the largest one seen.
        chance: below which contrasts are too quiet for the noise of their pairs; 0: none is, as it
            must be if streams are shared.
        silent: a fall that may still come where a pair never varied, in the largest deviation of
            any pair of the arms in question.
        silence: pulls of such a pair after which none is feared any more.
    """

    clear: float = 0.5
    hidden: float = 5.0
    fall: float = 4.0
    chance: float = 1e-4
    silent: float = 4.0
    silence: int = 60


class Moments(NamedTuple):
    """Sums from which the shape of contrasts follows, as arrays of one shape.

    Attributes:
        freedom: of the sums of squares.
        squares: about the batches' means, as those of single pulls.
        known: batches by which the third cumulant is known.
        cubes: likewise.
    """

    freedom: Array
    squares: Array
    known: Array
    cubes: Array


class Cells(NamedTuple):
    """Places of contrasts among all: a challenger's points, and columns: rival pairs, or arms."""

    challenger: int
    places: IntArray
    columns: IntArray
    arms: IntArray


class Shapes:
    """Second and third moments of each challenger's contrasts, from all batches so far.

    They are those of single pulls: the mean of q pulls has a variance of 1/q and a third cumulant
    of 1/q² of theirs. The moments are pooled, not the phases' own skewnesses: a few values hide
    what is rare, and dividing by their own spread hides it again.
    """

    def __init__(self, sizes: IntArray, n_columns: int) -> None:
        """Begin with nothing; `sizes` says how many pairs each arm has."""
        self._sizes, self._n_columns = sizes, n_columns
        self._moments: dict[int, Moments] = {}
        self._falls: dict[int, Array] = {}  # how far a contrast of single pulls has fallen

    def count(self, where: Cells, values: Array, layout: Array) -> None:
        """Count a phase's contrasts.

        Args:
            where: whose contrasts they are.
            values: (n_batches, n_own, n_tested) contrasts.
            layout: (n_own, n_tested) variances of batches in those of single pulls; infinite where
                nothing is measured.
        """
        m, shape = len(values), (self._sizes[where.challenger], self._n_columns)
        if where.challenger not in self._moments:
            self._moments[where.challenger] = Moments(*np.zeros((4, *shape)))
            self._falls[where.challenger] = np.zeros(shape)
        centred = values - values.mean(axis=0)
        squares, cubes = (centred**2).sum(axis=0), (centred**3).sum(axis=0)
        unbiased = m * m / ((m - 1) * max(m - 2, 1))
        cells = np.ix_(where.places, where.columns)
        measured = np.isfinite(layout)
        # cumulants of phases are weighed by how well each is known
        gains = (m - 1, squares / layout, m * layout, unbiased * cubes / layout)
        for row, gain in zip(self._moments[where.challenger], gains, strict=True):
            row[cells] += np.where(measured, gain, 0.0)
        falls = self._falls[where.challenger]
        falls[cells] = np.maximum(falls[cells], -centred.min(axis=0) / layout)

    def seen(self, challenger: int, cells: tuple[Any, ...]) -> tuple[Moments, Array]:
        """Return what was counted there, and the farthest that a contrast of single pulls has
        fallen.
        """
        moments = self._moments[challenger]
        return Moments(*(row[cells] for row in moments)), self._falls[challenger][cells]

    def skewness(self, challenger: int, clear: float = CLEAR) -> Array:
        """(n_own, n_columns) the skewness of single pulls' contrasts; 0 where nothing is clear."""
        if challenger not in self._moments:
            return np.zeros((self._sizes[challenger], self._n_columns))
        return skewness(self._moments[challenger], clear)


def deviation(moments: Moments) -> Array:
    return np.asarray(np.sqrt(moments.squares / np.maximum(moments.freedom, 1)))


def skewness(moments: Moments, clear: float = CLEAR) -> Array:
    """Return the skewness that is left beyond chance: that many standard errors of it."""
    spread, known = deviation(moments), moments.known
    size = known * spread**3
    seen = (size > 0) & np.isfinite(size)  # the cube of what is tiny or huge may be neither
    raw = np.divide(moments.cubes, size, out=np.zeros_like(spread), where=seen)
    chance = clear * np.sqrt(6 / np.maximum(known, 1e-300))
    return np.asarray(np.sign(raw) * np.maximum(np.abs(raw) - chance, 0.0))


class Levels(NamedTuple):
    """Pulls of each pair as one sample, whatever phases they came in.

    Attributes:
        counts: (n_pairs,) pulls so far.
        means: (n_pairs,) of their rewards; 0 where there are none.
        scatter: (n_pairs,) squared deviations from these means.
    """

    counts: Counts
    means: Array
    scatter: Array

    @classmethod
    def unknown(cls, n_pairs: int) -> Levels:
        """Before any pull."""
        return cls(np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs), np.zeros(n_pairs))

    def after(self, outcome: Outcome) -> Levels:
        """The same with one more phase: what its means are off by counts as well."""
        counts = self.counts + outcome.counts
        total = np.maximum(counts, 1)
        off = outcome.sums / np.maximum(outcome.counts, 1) - self.means
        means = self.means + off * outcome.counts / total
        between = off**2 * self.counts * outcome.counts / total
        return Levels(counts, means, self.scatter + outcome.scatter + between)

    @property
    def freedom(self) -> Counts:
        """(n_pairs,) degrees of freedom of the scatter, 1 at least."""
        return np.asarray(np.maximum(self.counts - 1, 1))

    @property
    def deviations(self) -> Array:
        """(n_pairs,) of single pulls."""
        return np.sqrt(self.scatter / self.freedom)

    @property
    def silent(self) -> NDArray[np.bool_]:
        """(n_pairs,) whether all pulls of a pair gave the same, which normal ones never do."""
        rounding = self.counts * np.finfo(np.float64).eps * self.means  # of a sum of so many
        return np.asarray((self.counts > 1) & (self.scatter <= self.counts * rounding**2))


class Columns(NamedTuple):
    """Sums over phases, (n_own, n_columns) each: one row for each pair of a challenger.

    Attributes:
        gains: of weighted contrasts, in the deviation of a single pull.
        reaches: by how much a gap of 1 raises `gains`.
        lopsided: by how much a skewness of 1 skews them.
        pulls: in single pulls of both pairs.
        leans: of contrasts, weighed by their degrees of freedom.
    """

    gains: Array
    reaches: Array
    lopsided: Array
    pulls: Array
    leans: Array


class Sample(NamedTuple):
    """All batches of some comparisons.

    Attributes:
        columns: of the tested arms.
        moments: (n_own, n_columns) of their contrasts.
        times: (n_tested,) that clocks went on.
        starts: (n_tested,) where the columns of each tested arm begin.
    """

    columns: Columns
    moments: Moments
    times: Array
    starts: IntArray

    def of_arms(self, values: Array) -> Array:
        """(n_own, n_tested) sums over the columns of each arm."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))

    @property
    def roots(self) -> Array:
        """(n_tested,) of the times; 1 where nothing was gained in no time."""
        return np.sqrt(np.where(self.times > 0, self.times, 1.0))

    @property
    def sizes(self) -> Array:
        """(n_own, n_tested) in single pulls of both pairs, 2 at least."""
        return np.maximum(self.of_arms(self.columns.pulls), 2.0)

    def after_a_fall(self, t: Array, far: Array) -> Array:
        """Return the t statistics as they would be after one more value that far below."""
        sizes = self.sizes
        return with_a_fall(t / np.sqrt(sizes), np.ones_like(sizes), sizes, far)

    def walks(self, t: Array) -> Array:
        """The walks that t statistics of the whole sample make."""
        freedom = np.maximum(self.of_arms(self.moments.freedom), 1)
        return np.asarray(self.roots * normal_scores(t, freedom))


class Doubt:
    """Limits of every challenger's sums: none above what all its batches say as one sample.

    Args:
        offsets: (n_arms + 1,) where the points of each arm begin.
        paired: whether points are pairs that are compared one by one: then the noise of every pair
            is followed.
        tolerance: added to contrasts where they are eased.
        suspicion: of what was seen.
        n_pairs: how many pairs there are; None: as many as points.
    """

    def __init__(
        self,
        offsets: IntArray,
        paired: bool,
        tolerance: float,
        suspicion: Suspicion,
        n_pairs: int | None = None,
    ) -> None:
        self._sizes, self._pairs = np.diff(offsets), offsets
        self._offsets = offsets if paired else np.arange(len(offsets))
        self._paired, self._tolerance, self._suspicion = paired, tolerance, suspicion
        self.shapes = Shapes(self._sizes, int(self._offsets[-1]))
        self.levels = Levels.unknown(int(offsets[-1]) if n_pairs is None else n_pairs)
        self._sums: dict[int, tuple[Columns, Array]] = {}  # of columns; times that clocks went on
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
        self.shapes.count(where, said.values / units, layout)
        leans = self._leans(claims, where, phase.counts)
        self._count(where, said.values / units, layout, units, root**2, leans)
        limits = self._limits(where)
        return limits if self._tolerance > 0 else limits[:1]

    def skewness(self, challenger: int) -> float:
        """Return the largest skewness of a challenger's differences that is certainly no chance.

        There are many, and of many the largest seems skewed.
        """
        sure = self.shapes.skewness(challenger, CERTAIN) != 0
        found = np.where(sure, self.shapes.skewness(challenger), 0.0).ravel()
        return float(found[np.abs(found).argmax()])

    def _cells(self, claims: Claims) -> Cells:
        """Tell contrasts apart by the pair that each arm is mainly compared by, or by arms."""
        places = claims.points - self._pairs[claims.challenger]
        columns = claims.arms
        if self._paired:
            shares = claims.shares
            row = np.repeat(np.arange(len(shares.sizes)), shares.sizes) % len(claims.arms)
            order = np.argsort(shares.values, kind="stable")
            columns = self._pairs[claims.arms].copy()
            columns[row[order]] = shares.columns[order]
        return Cells(claims.challenger, places, columns, claims.arms)

    def _leans(self, claims: Claims, where: Cells, counts: Counts) -> Array | float:
        """Return by how much the own pair's variance enters a contrast's: 1 for equal pulls, the
        rest of 2 is the rival's.
        """
        if not self._paired:
            return 1.0
        own, rivals = (1 / np.maximum(counts[pairs], 1) for pairs in (claims.points, where.columns))
        return np.asarray(2 * own[:, None] / (own[:, None] + rivals))

    def _unit_for(self, values: Array) -> float:
        """A power of two, the same for all phases: dividing by it changes no digit."""
        if not self._unit:
            size = float(np.abs(values).max(initial=0.0))
            self._unit = 2.0 ** int(np.log2(size)) if size > 0 else 0.0
        return self._unit or 1.0

    def _count(
        self,
        where: Cells,
        values: Array,
        layout: Array,
        units: Array,
        steps: Array,
        leans: Array | float,
    ) -> None:
        m, measured = len(values), np.isfinite(layout)
        if where.challenger not in self._sums:
            shape = (5, self._sizes[where.challenger], self._offsets[-1])
            self._sums[where.challenger] = Columns(*np.zeros(shape)), np.zeros(len(self._sizes))
        of_columns, times = self._sums[where.challenger]
        cells = np.ix_(where.places, where.columns)
        reach = np.sqrt(steps * m / layout)
        of_columns.gains[cells] += reach * values.mean(axis=0)
        of_columns.reaches[cells] += reach / units
        of_columns.lopsided[cells] += steps**1.5 * np.sqrt(np.where(measured, layout, 0.0) / m)
        of_columns.pulls[cells] += m / layout
        of_columns.leans[cells] += (m - 1) * leans
        times[where.arms] += steps

    def _limits(self, where: Cells) -> Array:
        """(2, n_own, n_tested) the walks if all batches so far had been one phase."""
        columns, starts = members_of(where.arms, self._offsets)
        cells = np.ix_(where.places, columns)
        moments, falls = self.shapes.seen(where.challenger, cells)
        sums, times = self._sums[where.challenger]
        of_columns = Columns(*(row[cells] for row in sums))
        sample = Sample(of_columns, moments, times[where.arms], starts[:-1])
        spread, falls = deviation(moments), self._suspicion.fall * falls
        limits = self._if_skewed(sample, spread, falls)
        if not self._paired:
            return limits
        own = self._offsets[where.challenger] + where.places
        floored = self._floored(sample, spread, own, columns)
        if (floored > spread).any():
            limits = np.fmin(limits, self._if_skewed(sample, floored, falls))
        unseen = self._unseen(where.challenger, own, columns)
        if unseen.any():
            limits = np.fmin(limits, self._if_fallen(sample, spread, unseen))
        return limits

    def _if_skewed(self, sample: Sample, spread: Array, fall: Array) -> Array:
        """(2, n_own, n_tested) the walks by such deviations, lowered for their skewness, but not
        below what they would be after a fall that far.
        """
        t, far = self._statistics(sample, spread, fall)
        shape = sample.of_arms(self._feared(sample.moments) * sample.columns.lopsided)
        hall = corrected(t, shape / sample.roots**3 / 3)
        return sample.walks(np.minimum(t, np.maximum(hall, sample.after_a_fall(t, far))))

    def _if_fallen(self, sample: Sample, spread: Array, fall: Array) -> Array:
        """(2, n_own, n_tested) the same after a fall that far, where there may be one."""
        t, far = self._statistics(sample, spread, fall)
        fallen = np.where(far > 0, sample.after_a_fall(t, far), t)
        return sample.walks(np.minimum(t, fallen))

    def _statistics(self, sample: Sample, spread: Array, fall: Array) -> tuple[Array, Array]:
        """(2, n_own, n_tested) t statistics, plain and eased, and (n_own, n_tested) how far that
        fall is, in deviations.
        """
        columns, inverse = sample.columns, _inverse(spread, sample.columns.gains)
        plain = sample.of_arms(inverse * columns.gains) / sample.roots
        eased = self._tolerance * sample.of_arms(inverse * columns.reaches) / sample.roots
        far = sample.of_arms(fall * inverse * columns.pulls) / sample.sizes
        return np.stack([plain, plain + eased]), far

    def _floored(self, sample: Sample, spread: Array, own: IntArray, columns: IntArray) -> Array:
        """(n_own, n_columns) deviations of contrasts; what those of their pairs make them where
        contrasts were quieter than chance: what is rare was seen elsewhere, and not here.
        """
        if not self._suspicion.chance:
            return spread
        known, levels = np.maximum(sample.moments.freedom, 1), self.levels
        lean, deviations = sample.columns.leans / known, levels.deviations / (self._unit or 1.0)
        of_own = np.sqrt(lean) * deviations[own][:, None]
        of_rival = np.sqrt(2 - lean) * deviations[columns]

        def too_quiet(of_pair: Array, freedom: IntArray) -> NDArray[np.bool_]:
            ratio = np.divide(of_pair, spread, out=np.zeros_like(spread), where=spread > 0)
            chance = special.fdtrc(freedom, known, np.minimum(ratio, 1e100) ** 2)
            return np.asarray(chance < self._suspicion.chance)

        quiet = too_quiet(of_own, levels.freedom[own][:, None])
        quiet |= too_quiet(of_rival, levels.freedom[columns])
        return np.where(quiet, np.maximum(spread, np.hypot(of_own, of_rival)), spread)

    def _unseen(self, challenger: int, own: IntArray, columns: IntArray) -> Array:
        """(n_own, n_columns) a fall that may still come where one of the pairs never varied in a
        few pulls: as large as the noise of these arms makes likely. 0 where both did.
        """
        levels = self.levels
        silent = levels.silent & (levels.counts < self._suspicion.silence)
        mine = np.arange(self._offsets[challenger], self._offsets[challenger + 1])
        largest = levels.deviations[np.concatenate([mine, columns])].max() / (self._unit or 1.0)
        fall = self._suspicion.silent * largest
        return np.where(silent[own][:, None] | silent[columns], fall, 0.0)

    def _feared(self, moments: Moments) -> Array:
        """The skewness that there may be: a few batches hide what is rare."""
        hidden = self._suspicion.hidden / np.sqrt(moments.known + 1)
        return np.asarray(skewness(moments, self._suspicion.clear) * (1 + hidden))


def _inverse(spread: Array, gains: Array) -> Array:
    """One over the spread; 0 where it is nothing but rounding."""
    seen = spread > ROUNDING * np.abs(gains)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=seen)


def with_a_fall(centre: Array, spread: Array, m: Array | int, fall: Array) -> Array:
    """The t statistic of m values if one more had been seen, that far below the others' mean.

    Where differences are so large that even this would not matter, skewness does not matter.
    """
    known = np.where(np.isfinite(fall), fall, 0.0)
    mean = centre - known / (m + 1)
    error = np.sqrt(((m - 1) * spread**2 + m / (m + 1) * known**2) / m / (m + 1))
    usable = np.isfinite(fall) & (error > 0)
    lowest = np.full(np.shape(mean), -np.inf)
    return np.asarray(np.divide(mean, error, out=lowest, where=usable))


def corrected(t: Array, a: Array) -> Array:
    """Hall's (1992) monotone cubic for a t statistic of skewed values, held at its plateau.

    With a third of the skewness of their mean as a, it is t + a t² + a² t³ / 3 + a / 2. Its
    slope is (1 + a t)²: for a negative a it is flat at t = 1 / |a|, and beyond that it would rise
    above t again.
    """
    level = np.where(a < 0, np.minimum(t, 1 / np.maximum(-a, 1e-300)), t)
    level = np.clip(level, -LARGEST, LARGEST)
    return np.asarray(level + a * level**2 + a**2 * level**3 / 3 + a / 2)
