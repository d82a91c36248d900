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
from surefoot.evidence.student import ROUNDING, corrected, normal_scores, with_a_fall
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
            any pair.
    """

    clear: float
    hidden: float
    fall: float
    chance: float = 0.0
    silent: float = 0.0


class Weighed(NamedTuple):
    """A phase's comparisons as they enter a walk.

    Attributes:
        values: (n_batches, n_own, n_tested) contrasts.
        layout: (n_own, n_tested) variances of batches in those of single pulls; infinite where
            nothing is measured.
        units: (n_own, n_tested) in which contrasts of different phases are alike.
        steps: (n_tested,) the time that the clocks of the arms go on by.
        scores: (2, n_own, n_tested) of the contrasts, plain and eased by the tolerance.
    """

    values: Array
    layout: Array
    units: Array
    steps: Array
    scores: Array


class _Sums(NamedTuple):
    """Sums over phases, one row for each pair of a challenger.

    Attributes:
        gains: (n_own, n_columns) of weighted contrasts, in the deviation of a single pull.
        reaches: (n_own, n_columns) by how much a gap of 1 raises `gains`.
        lopsided: (n_own, n_columns) by how much a skewness of 1 skews them.
        pulls: (n_own, n_columns) in single pulls of both pairs.
        times: (n_arms,) the time that clocks went on with this challenger.
        walks: (2, n_own, n_arms) the sums of weighted scores, plain and eased.
        held: (2, n_own, n_arms) what is left of them.
    """

    gains: Array
    reaches: Array
    lopsided: Array
    pulls: Array
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
        values, layout, units, steps, _ = phase
        m, measured = len(values), np.isfinite(layout)
        if where.challenger not in self._sums:
            self._sums[where.challenger] = self._nothing(where.challenger)
        sums, cells = self._sums[where.challenger], np.ix_(where.places, where.columns)
        reach = np.sqrt(steps * m / layout)
        sums.gains[cells] += reach * values.mean(axis=0)
        sums.reaches[cells] += reach / units
        sums.lopsided[cells] += steps**1.5 * np.sqrt(np.where(measured, layout, 0.0) / m)
        sums.pulls[cells] += m / layout
        sums.times[where.arms] += steps
        return sums

    def _nothing(self, challenger: int) -> _Sums:
        own, n_arms = self._sizes[challenger], len(self._sizes)
        gains, reaches, lopsided, pulls = np.zeros((4, own, self._offsets[-1]))
        walks, held = np.zeros((2, len(KINDS), own, n_arms))
        return _Sums(gains, reaches, lopsided, pulls, np.zeros(n_arms), walks, held)

    def _limits(self, where: Tested, sums: _Sums, levels: Levels | None) -> Array:
        """(2, n_own, n_tested) the walks if all batches so far had been one phase."""
        columns, starts = members_of(where.arms, self._offsets)
        cells = np.ix_(where.places, columns)

        def of_arms(values: Array) -> Array:
            return np.asarray(np.add.reduceat(values, starts[:-1], axis=1))

        moments, falls = self.shapes.seen(where.challenger, cells)
        gains, reaches, pulls = sums.gains[cells], sums.reaches[cells], sums.pulls[cells]
        own = self._offsets[where.challenger] + where.places
        inverse = _inverse(self._spread(own, columns, moments, levels), gains)
        times = sums.times[where.arms]
        root = np.sqrt(np.where(times > 0, times, 1.0))  # nothing was gained in no time
        shape = of_arms(self._feared(moments) * sums.lopsided[cells]) / root**3
        plain = of_arms(inverse * gains) / root
        eased = self._tolerance * of_arms(inverse * reaches) / root
        t, size = np.stack([plain, plain + eased]), np.maximum(of_arms(pulls), 2.0)

        def fallen(fall: Array) -> Array:
            """What would be left of t if one more value had been seen, that far below."""
            far = of_arms(fall * inverse * pulls) / size
            return with_a_fall(t / np.sqrt(size), np.ones_like(size), size, far)

        skewed = np.maximum(corrected(t, shape / 3), fallen(self._suspicion.fall * falls))
        lowered = np.minimum(t, skewed)
        if levels is not None and self._suspicion.silent and levels.silent.any():
            unseen = self._unseen(own, columns, levels)
            doubted = of_arms(unseen) > 0
            lowered = np.where(doubted, np.minimum(lowered, fallen(unseen)), lowered)
        return np.asarray(root * normal_scores(lowered, np.maximum(of_arms(moments.freedom), 1)))

    def _spread(
        self, own: IntArray, columns: IntArray, moments: Moments, levels: Levels | None
    ) -> Array:
        """(n_own, n_columns) deviations of contrasts; those of their pairs where contrasts were
        quieter than chance makes them: what is rare was seen elsewhere, and not here.
        """
        spread = deviation(moments)
        if levels is None or not self._suspicion.chance:
            return spread
        variances = levels.variances / (self._unit or 1.0) ** 2

        def too_quiet(pairs: IntArray) -> NDArray[np.bool_]:
            ratio = variances[pairs] / np.maximum(spread**2, 1e-300)
            known = np.maximum(moments.freedom, 1)
            chance = special.fdtrc(levels.freedom[pairs], known, ratio)
            return np.asarray(chance < self._suspicion.chance)

        of_pairs = np.sqrt(variances[own][:, None] + variances[columns])
        seen_elsewhere = too_quiet(own[:, None]) | too_quiet(columns[None, :])
        return np.where(seen_elsewhere, np.maximum(spread, of_pairs), spread)

    def _unseen(self, own: IntArray, columns: IntArray, levels: Levels) -> Array:
        """(n_own, n_columns) a fall that is still to come where one of the pairs never varied: as
        large as the noise of others makes likely. 0 where both did.
        """
        largest = float(np.sqrt(levels.variances.max())) / (self._unit or 1.0)
        silent = levels.silent[own][:, None] | levels.silent[columns]
        return np.where(silent, self._suspicion.silent * largest, 0.0)

    def _feared(self, moments: Moments) -> Array:
        """The skewness that there may be: a few batches hide what is rare."""
        hidden = self._suspicion.hidden / np.sqrt(moments.known + 1)
        return np.asarray(skewness(moments, self._suspicion.clear) * (1 + hidden))


def _inverse(spread: Array, gains: Array) -> Array:
    """One over the spread; 0 where it is nothing but rounding."""
    seen = spread > ROUNDING * np.abs(gains)
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=seen)
