"""All phases so far as one sample: a second opinion on evidence, which only ever lowers it.

Each phase's score is exact for normal differences. Where they are skewed, a short phase misses what
is rare, and one phase after another may. The batches of all phases together miss less: a fall that
comes late then counts against what was believed before it. A walk that is lowered stays below the
one that is bounded, whatever data lowered it: the guarantee for normal differences is kept.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.evidence.caution import Compared, Moments, Shapes, deviation, skewness
from surefoot.evidence.levels import Levels
from surefoot.evidence.sample import Columns, Sample
from surefoot.evidence.student import ROUNDING, corrected
from surefoot.groups import members_of

KINDS = np.arange(2)  # of walks: plain, and eased by the tolerance
CERTAIN = 3.0  # standard errors of a skewness that is spoken of


class Tested(Compared, Protocol):
    """The same, and the arms that the compared columns belong to."""

    @property
    def arms(self) -> IntArray: ...


class Suspicion(NamedTuple):
    """How far what was seen of a shape is doubted.

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

    clear: float
    hidden: float
    fall: float
    chance: float = 0.0
    silent: float = 0.0
    silence: int = 0


class Weighed(NamedTuple):
    """A phase's comparisons as they enter a walk.

    Attributes:
        values: (n_batches, n_own, n_tested) contrasts.
        layout: (n_own, n_tested) variances of batches in those of single pulls; infinite where
            nothing is measured.
        units: (n_own, n_tested) in which contrasts of different phases are alike.
        steps: (n_tested,) the time that the clocks of the arms go on by.
        scores: (2, n_own, n_tested) of the contrasts, plain and eased by the tolerance.
        leans: (n_own, n_tested) by which the own pair's variance enters that of a contrast, in the
            unit of `layout`; what is left of 2 is the rival's.
    """

    values: Array
    layout: Array
    units: Array
    steps: Array
    scores: Array
    leans: Array | float = 1.0


class _Sums(NamedTuple):
    """Sums over phases of one challenger: what columns and arms have of them.

    Attributes:
        columns: what each column has.
        times: (n_arms,) the time that clocks went on with this challenger.
        walks: (2, n_own, n_arms) the sums of weighted scores, plain and eased.
        held: (2, n_own, n_arms) what is left of them.
    """

    columns: Columns
    times: Array
    walks: Array
    held: Array


class Together:
    """The walks of every challenger, none above what all its batches say as one sample.

    Args:
        sizes: (n_arms,) how many pairs each arm has.
        offsets: (n_arms + 1,) which columns, of those that contrasts are told apart by, belong to
            each arm; the columns are pairs wherever levels are given.
        tolerance: added to contrasts where they are eased.
        suspicion: of what was seen.
    """

    def __init__(
        self, sizes: IntArray, offsets: IntArray, tolerance: float, suspicion: Suspicion
    ) -> None:
        self.shapes = Shapes(sizes, int(offsets[-1]))
        self._sizes, self._offsets = sizes, offsets
        self._tolerance, self._suspicion = tolerance, suspicion
        self._sums: dict[int, _Sums] = {}
        self._unit = 0.0  # of contrasts: their cubes shall be finite

    def begin(self) -> None:
        """Start fresh walks; what is known of shapes stays."""
        self._sums = {}

    def add(self, where: Tested, phase: Weighed, levels: Levels | None = None) -> Array:
        """(2, n_own, n_tested) what a phase adds to the walks, plain and eased; `levels` are the
        noise of all pairs, this phase's included, if columns are pairs.
        """
        units = phase.units * self._unit_for(phase.values / phase.units)
        phase = phase._replace(values=phase.values / units, units=units)
        self.shapes.count(where, phase.values, phase.layout)
        sums = self._counted(where, phase)
        cells = np.ix_(KINDS, where.places, where.arms)
        sums.walks[cells] += np.sqrt(phase.steps) * phase.scores
        # a limit that is no number limits nothing: the exact walk stands
        held = np.fmin(sums.walks[cells], self._limits(where, sums, levels))
        added = held - sums.held[cells]
        sums.held[cells] = held
        return np.asarray(added)

    def skewness(self, challenger: int) -> float:
        """Of a challenger's differences, the largest in size of those that are certainly no chance:
        there are many, and of many the largest seems skewed.
        """
        sure = self.shapes.skewness(challenger, CERTAIN) != 0
        found = np.where(sure, self.shapes.skewness(challenger), 0.0).ravel()
        return float(found[np.abs(found).argmax()])

    def _unit_for(self, values: Array) -> float:
        """A power of two, the same for all phases: dividing by it changes no digit."""
        if not self._unit:
            size = float(np.abs(values).max(initial=0.0))
            self._unit = 2.0 ** int(np.log2(size)) if size > 0 else 0.0
        return self._unit or 1.0

    def _counted(self, where: Tested, phase: Weighed) -> _Sums:
        values, layout, units, steps, _, leans = phase
        m, measured = len(values), np.isfinite(layout)
        if where.challenger not in self._sums:
            self._sums[where.challenger] = self._nothing(where.challenger)
        sums, cells = self._sums[where.challenger], np.ix_(where.places, where.columns)
        reach = np.sqrt(steps * m / layout)
        of_columns = sums.columns
        of_columns.gains[cells] += reach * values.mean(axis=0)
        of_columns.reaches[cells] += reach / units
        of_columns.lopsided[cells] += steps**1.5 * np.sqrt(np.where(measured, layout, 0.0) / m)
        of_columns.pulls[cells] += m / layout
        of_columns.leans[cells] += (m - 1) * leans
        sums.times[where.arms] += steps
        return sums

    def _nothing(self, challenger: int) -> _Sums:
        own, n_arms = self._sizes[challenger], len(self._sizes)
        of_columns = Columns(*np.zeros((5, own, self._offsets[-1])))
        walks, held = np.zeros((2, len(KINDS), own, n_arms))
        return _Sums(of_columns, np.zeros(n_arms), walks, held)

    def _limits(self, where: Tested, sums: _Sums, levels: Levels | None) -> Array:
        """(2, n_own, n_tested) the walks if all batches so far had been one phase."""
        columns, starts = members_of(where.arms, self._offsets)
        cells = np.ix_(where.places, columns)
        moments, falls = self.shapes.seen(where.challenger, cells)
        of_columns = Columns(*(row[cells] for row in sums.columns))
        sample = Sample(of_columns, moments, sums.times[where.arms], starts[:-1])
        spread, falls = deviation(moments), self._suspicion.fall * falls
        limits = self._if_skewed(sample, spread, falls)
        if levels is None:
            return limits
        own = self._offsets[where.challenger] + where.places
        floored = self._floored(sample, spread, own, columns, levels)
        if (floored > spread).any():
            limits = np.fmin(limits, self._if_skewed(sample, floored, falls))
        unseen = self._unseen(where.challenger, own, columns, levels)
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

    def _floored(
        self, sample: Sample, spread: Array, own: IntArray, columns: IntArray, levels: Levels
    ) -> Array:
        """(n_own, n_columns) deviations of contrasts; what those of their pairs make them where
        contrasts were quieter than chance: what is rare was seen elsewhere, and not here.
        """
        if not self._suspicion.chance:
            return spread
        known = np.maximum(sample.moments.freedom, 1)
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

    def _unseen(self, challenger: int, own: IntArray, columns: IntArray, levels: Levels) -> Array:
        """(n_own, n_columns) a fall that may still come where one of the pairs never varied in a
        few pulls: as large as the noise of these arms makes likely. 0 where both did.
        """
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
