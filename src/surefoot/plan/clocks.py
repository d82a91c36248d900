"""Clocks: how large phases are planned, and by how much evidence counts.

The kernel takes any steps on a grid that is fixed before any data. Where a model is trusted, every
pull says something about all arms, and all clocks go on together by a schedule. Where pairs are
compared directly each arm has its own clock, which goes on by the information that a phase should
give about it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from scipy import special

from surefoot.algorithms.planner import Past
from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary
from surefoot.plan.contrasts import Compared
from surefoot.plan.shares import Ahead, Lacking
from surefoot.plan.tuning import Tuning

# the common schedule
RISE, LARGE = 0.25, 2.0  # units by which the first phases exceed the last, and up to which
STRICTNESS = 2.0  # added to c² for each factor e by which a look comes before `strict` units
STEEPNESS = 3.0  # … and by which it comes after the first `looks`
ROUND_LOOKS = (20, 30, 40, 50, 60)  # numbers of looks that a tolerance or a budget may leave
LATE_LOOKS = 200  # beyond those, with a boundary that rises: no run ends for want of looks
HIGHEST = 12.0  # by how much c² rises at most: so rare that it is as good as free
# how far clocks look ahead
HORIZONS, FURTHEST = 20, 1000.0
LEAST_LACKING = 1e-3  # of a wealth
LEAST_ODDS = 0.1  # floor of P(gap > 0), the weight of a phase


class Clocks(ABC):
    """Chooses sizes of phases and steps of clocks.

    Attributes:
        boundary: on whose grid they go on.
        flexible: whether a phase may be larger or smaller than planned.
    """

    boundary: Boundary
    flexible: bool

    @abstractmethod
    def planned(self, past: Past, n_compared: int) -> float:
        """Return the pulls of the next phase, if so many pairs are compared."""

    @abstractmethod
    def ahead(self, past: Past, compared: Compared) -> Ahead:
        """Return the evidence that arms will need, if phases are like the one that compares
        them."""

    @abstractmethod
    def steps(self, past: Past, compared: Compared) -> IntArray:
        """Return (n_tested,) the grid points to which clocks go on after a phase like this."""

    def count(self, compared: Compared, pulls: float) -> None:  # noqa: B027
        """Remember a phase that is to be pulled, with so many pulls of a compared pair."""

    def spent(self, past: Past) -> bool:
        """Return whether no clock that all arms share can go on."""
        return False


class CommonClocks(Clocks):
    """All clocks go on together; sizes and boundary of all looks are fixed before any data count.

    Args:
        unit: pulls of the first phase.
        enough: upper bound of a run's data, in units.
        boundary: of a run that is resumed; None: a new one is planned.
    """

    flexible = True

    def __init__(
        self,
        settings: Settings,
        tuning: Tuning,
        unit: int,
        enough: float,
        boundary: Boundary | None,
    ) -> None:
        batched = settings.noise.evidence == "batches"
        trust, strict = (tuning.trust / 3, 0.0) if batched else (tuning.trust, tuning.strict)
        looks = _looks(tuning, enough)
        self.unit, self.sizes = unit, _sizes(tuning.growth, looks + LATE_LOOKS)
        if boundary is None:
            weights = self.sizes * np.minimum(np.cumsum(self.sizes) / trust, 1.0)
            data, times = np.log(np.cumsum(self.sizes)), np.cumsum(weights / weights[0])
            early = STRICTNESS * np.maximum(math.log(max(strict, 1e-9)) - data, 0.0)
            late = np.clip(STEEPNESS * (data - data[looks - 1]), 0.0, HIGHEST)
            shape, grid = tuple((early + late).tolist()), tuple(times.tolist())
            boundary = settings.noise.boundary(grid, settings.delta, shape)
        self.boundary = boundary

    def spent(self, past: Past) -> bool:
        return self._look(past) == len(self.boundary.times)

    def planned(self, past: Past, n_compared: int) -> float:
        return float(self.sizes[min(self._look(past), len(self.sizes) - 1)] * self.unit)

    def units(self, past: Past) -> float:
        """Return the data that count so far, in units, as they were planned."""
        return float(self.sizes[: self._look(past)].sum())

    def ahead(self, past: Past, compared: Compared) -> Ahead:
        look, times = self._look(past), self.boundary.times
        before = float(times[look - 1]) if look else 0.0
        step = float(times[look]) - before
        height = float(self.boundary.level[look] / np.sqrt(times[look]))

        def lacking(phases: Array, arms: IntArray, held: Array) -> Lacking:
            passing = phases[:, None] * step
            evidence = (height * np.sqrt(before + passing) - held) / np.sqrt(passing)
            return Lacking(1.0, evidence, np.zeros_like(evidence))

        doubling = 1 + before / step
        return Ahead(np.geomspace(1.0, FURTHEST * doubling, HORIZONS), doubling, lacking)

    def steps(self, past: Past, compared: Compared) -> IntArray:
        return np.full(len(compared.race.arms), self._look(past))

    def _look(self, past: Past) -> int:
        return int(past.places.max()) + 1


class OwnClocks(Clocks):
    """Chooses points of one grid for each arm, in proportion to the information expected so far."""

    flexible = False

    def __init__(self, boundary: Boundary, n_arms: int, tolerance: float, tuning: Tuning) -> None:
        self.boundary, self.times, self._tuning = boundary, boundary.times, tuning
        self._tolerance = tolerance
        self._information, self._per_pair = np.zeros(n_arms), 0.0
        self._logs = np.log(self.times)
        self._between = (self._logs[1:] + self._logs[:-1]) / 2  # half-way from point to point
        every = np.arange(len(self.times))
        self.middle = int((boundary.level / np.sqrt(self.times)).argmin())
        self._in_the_middle = self._heights(every, np.full_like(every, self.middle))

    def planned(self, past: Past, n_compared: int) -> float:
        growing = (self._tuning.pair_growth - 1) * self._per_pair
        return n_compared * max(self._tuning.pair_pulls, growing)

    def count(self, compared: Compared, pulls: float) -> None:
        self._information[compared.race.arms] += self._forecast(compared)[0]
        self._per_pair += pulls

    def steps(self, past: Past, compared: Compared) -> IntArray:
        """Return (n_tested,) the point nearest to where a clock should be, one step further at
        least."""
        arms = compared.race.arms
        before, places = self._information[arms], past.places[arms]
        information, scores = self._forecast(compared)
        share = np.divide(information, before, out=np.ones_like(before), where=before > 0)
        wanted = np.log(np.maximum(self._now(places), 1e-300)) + np.log1p(share)
        nearest = np.searchsorted(self._between, wanted)
        further = np.minimum(np.maximum(nearest, places + 1), len(self.times) - 1)
        return np.where(places < 0, self._first(scores), further)

    def ahead(self, past: Past, compared: Compared) -> Ahead:
        arms = compared.race.arms
        places, following = past.places[arms], self.steps(past, compared)
        starts = past.certifier.walks.starts[arms]
        starts = np.where(starts < 0, following, starts)
        now = self._now(places)
        step = self.times[following] - now

        def lacking(phases: Array, of: IntArray, held: Array) -> Lacking:
            passing = phases[:, None] * step
            level = self._level(starts, now + passing)
            passing, level = passing[:, of], level[:, of]
            evidence = (level - held) / np.sqrt(passing)
            return Lacking(1.0, evidence, np.zeros_like(evidence))

        return Ahead(np.geomspace(1.0, FURTHEST, HORIZONS), float((1 + now / step).mean()), lacking)

    def _forecast(self, compared: Compared) -> tuple[Array, Array]:
        """Return (n_tested,) information that a phase should give, and scores of hardest
        comparisons."""
        gaps, doubts, lengths = compared.gaps + self._tolerance, compared.doubts, compared.lengths
        open_ = np.isfinite(compared.race.held)
        precision = np.where(open_, 1 / lengths**2, np.inf).min(axis=0)
        odds = special.ndtr(gaps / np.maximum(doubts, 1e-300))
        hopeful = np.clip(np.where(open_, odds, 1.0).min(axis=0), LEAST_ODDS, 1.0)
        likely = np.maximum(gaps, self._tuning.slight * doubts)
        scores = np.where(open_, likely / lengths, np.inf).min(axis=0)
        return precision * hopeful**2, scores

    def _now(self, places: IntArray) -> Array:
        """Return the clocks' times; 0 before an arm's first test."""
        return np.where(places >= 0, self.times[places], 0.0)

    def _heights(self, starts: IntArray, places: IntArray) -> Array:
        """Return boundaries at grid points in √t, by where clocks began."""
        return self.boundary.levels(starts, places) / np.sqrt(self.times[places])

    def _level(self, starts: IntArray, then: Array) -> Array:
        """Return the walks that eliminate arms at any (n_horizons, n_tested) times."""
        place = np.interp(np.log(then), self._logs, np.arange(len(self._logs)))
        below = np.minimum(place.astype(np.int64), max(len(self._logs) - 2, 0))
        above = np.minimum(below + 1, len(self._logs) - 1)
        low, high = (self._heights(starts, each) for each in (below, above))
        return np.asarray((low + (place - below) * (high - low)) * np.sqrt(then))

    def _first(self, scores: Array) -> IntArray:
        """Return (n_tested,) where clocks begin, so that phases with these scores end near the
        middle."""
        phases = np.maximum((self._in_the_middle / scores[:, None]) ** 2, 1.0)
        away = self._logs[self.middle] - np.log(phases) - self._logs
        return np.asarray(np.abs(away).argmin(axis=1))


class NoClocks(Clocks):
    """A wealth has no clock: it is enough once it has grown to 1/δ."""

    flexible = False

    def __init__(self, boundary: Boundary, tuning: Tuning) -> None:
        self.boundary, self._tuning, self._per_pair = boundary, tuning, 0.0

    def planned(self, past: Past, n_compared: int) -> float:
        growing = (self._tuning.pair_growth - 1) * self._per_pair
        return n_compared * max(self._tuning.pair_pulls, growing)

    def count(self, compared: Compared, pulls: float) -> None:
        self._per_pair += pulls

    def steps(self, past: Past, compared: Compared) -> IntArray:
        return np.zeros(len(compared.race.arms), dtype=np.int64)

    def ahead(self, past: Past, compared: Compared) -> Ahead:
        enough = float(self.boundary.level[-1])

        def lacking(phases: Array, arms: IntArray, held: Array) -> Lacking:
            none = np.zeros((len(phases), len(held)))
            return Lacking(0.5, none, none + np.maximum(enough - held, LEAST_LACKING))

        return Ahead(np.geomspace(1.0, FURTHEST, HORIZONS), 10.0, lacking)


def _looks(tuning: Tuning, enough: float) -> int:
    """Return the looks up to that many units, but for some to a round number."""
    reached = np.searchsorted(np.cumsum(_sizes(tuning.growth, tuning.looks)), enough) + 1
    round_ = [looks for looks in ROUND_LOOKS if reached <= looks <= tuning.looks]
    return round_[0] if round_ else tuning.looks


def _sizes(growth: float, looks: int) -> Array:
    """Return (n_looks,) phases in units."""
    sizes = [1.0]
    while len(sizes) < looks:
        rising = min(1.0 + RISE * (len(sizes) - 1), LARGE)
        sizes.append(max((growth - 1) * sum(sizes), rising))
    return np.array(sizes)
