"""Forecasts of the pulls that a study still needs, and of the time that pulls take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.algorithms import Algorithm, Settings
from surefoot.algorithms.planner import Planner
from surefoot.arrays import Array, IntArray

GAP_SHRINKAGE = 0.2  # standard errors by which an estimated gap is shrunk
LEAST = 0.8  # standard errors that a gap is taken to be at least
EVIDENCE_SHRINKAGE = 0.25  # standard deviations by which evidence is shrunk
MEDIAN_TO_MEAN = 0.7  # median of a run's pulls, as a share of their mean
SHORTEST = 0.5  # of the last phase: the next one is hardly smaller
IN_BATCHES = 1.2  # times as many pulls, where a few batches also have to say how noisy pairs are
DRIVERS_SHARE = 0.01  # of the driver's time that forecasts may take
EARLY = 100  # pulls before which a forecast is hardly more than chance
MANY, MANY_MORE = 1_500, 3.0  # pulls left that are worth a word, and how many times those so far
NEAR_TIE = (
    "the best arms are nearly level: if a small difference does not matter, a new study, in "
    "another file, with a tolerance ends much sooner"
)


def expected_left(run: Algorithm) -> float | None:
    """Forecast the pulls left, from the gaps and the noise as they look now; None if it is too
    early, before any comparison.

    Evidence grows with the square root of the pulls: n pulls at a characteristic time H give √(n /
    H), and the run stops where that reaches its boundary c. So where the hardest rival has evidence
    e so far, (c² − e²) H pulls are missing. The work is linear in the number of pairs.
    """
    if not run.history or not run.survivors[run.leader] or not run.settings.worst_case:
        return None
    if isinstance(run, Planner) and run.boundary is None:
        return None
    rivals = np.flatnonzero(run.rivals)
    if not len(rivals):
        return 0.0
    with np.errstate(all="ignore"):
        left = MEDIAN_TO_MEAN * _lacking(run) * _hardness(run, rivals)
        if run.settings.noise.evidence == "batches":
            left *= IN_BATCHES
    least = SHORTEST * float(run.history[-1].counts.sum())
    return max(float(left), least) if math.isfinite(left) else None


class Forecaster:
    """Makes forecasts while a study runs, limited to 1 % of the driver's CPU time.

    Attributes:
        wanted: whether forecasts are made at all: not where no display shows them.
        latest: the last forecast, less the pulls since.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.wanted = True
        self.latest: float | None = None
        self._clock, self._began, self._spent, self._last = clock, clock(), 0.0, 0.0

    def after_phase(self, run: Algorithm) -> float | None:
        """Return the pulls left after the last phase: forecast anew, if there is time for it."""
        before = self._clock()
        if not self._last or self._spent + self._last <= DRIVERS_SHARE * (before - self._began):
            self.latest = expected_left(run)
            self._last = self._clock() - before
            self._spent += self._last
        elif self.latest is not None:
            pulls = float(run.history[-1].counts.sum())
            self.latest = max(self.latest - pulls, SHORTEST * pulls)
        return self.latest


def _hardness(run: Algorithm, rivals: IntArray) -> float:
    """Return the pulls per unit of squared evidence, if every pair had the pulls it needs.

    Each pair of the leader is compared with the lowest pair of each of K rivals. Where the leader's
    pairs take √K times the share of a rival's, σ²(1 + √K) / gap² and σ²(1 + 1/√K) / gap² pulls are
    enough for one unit. A gap is known up to its standard error only: it is taken to be somewhat
    smaller, since the leader was lucky to lead, and not below a share of that error.
    """
    tally, offsets, root = run.tally, run.problem.offsets, math.sqrt(len(rivals))
    means, scales = tally.pair_means, tally.noise_scales
    if scales is None:
        return math.nan
    lowest = run.problem.worst_pairs_of(means)[rivals]
    variances, errors = scales**2, scales**2 / np.maximum(tally.counts, 1)
    of_rivals, of_leader = np.zeros(len(rivals)), 0.0
    for pair in range(offsets[run.leader], offsets[run.leader + 1]):
        error = np.sqrt(errors[pair] + errors[lowest])
        gaps = means[pair] - means[lowest] + run.settings.tolerance
        squares = np.maximum(gaps - GAP_SHRINKAGE * error, LEAST * error) ** 2
        of_rivals = np.maximum(of_rivals, variances[lowest] * (1 + 1 / root) / squares)
        of_leader += variances[pair] * (1 + root) / squares.min()
    return float(of_rivals.sum() + of_leader)


def _lacking(run: Algorithm) -> float:
    """Return the squared evidence that is missing, if the present evidence came by some luck.

    Wealth grows like half the square of such evidence.
    """
    held = run.weakest_evidence
    if run.boundary is None:
        return 2 * math.log(1 / run.settings.delta)
    if run.settings.noise.evidence == "wealth":
        return max(2 * (run.boundary - held), 0.0)
    return max(run.boundary**2 - max(held - EVIDENCE_SHRINKAGE, 0.0) ** 2, 0.0)


def left_now(expected: float | None, missing: int, told: int) -> float | None:
    """Return the last forecast less the rewards since, and no less than the open phase misses."""
    return None if expected is None else max(expected - told, float(missing))


def is_near_tie(told: int, left: float | None, settings: Settings) -> bool:
    """Return whether a user without a tolerance should hear of it, since so many pulls are left."""
    if left is None or told < EARLY or settings.tolerance or settings.aim == "guess":
        return False
    return left > max(MANY_MORE * told, MANY)


Lengths = Callable[[IntArray], Array]  # the seconds of pulls of these pairs


@dataclass(frozen=True, eq=False)
class Durations:
    """The time that some pulls took.

    Attributes:
        pairs: (n_pulls,) that were pulled; at least one.
        seconds: (n_pulls,) that it took.
    """

    pairs: IntArray
    seconds: Array

    @property
    def mean(self) -> float:
        return float(self.seconds.mean())

    def lengths(self, n_pairs: int, generator: np.random.Generator) -> Lengths:
        """Return a function that draws how long pulls take: as those of the pair did, or as those
        of any pair where it was not tried.
        """
        seconds = self.seconds[np.argsort(self.pairs, kind="stable")]
        counts = np.bincount(self.pairs, minlength=n_pairs)
        starts = np.cumsum(counts) - counts
        tried = counts > 0

        def drawn(pairs: IntArray) -> Array:
            first = np.where(tried[pairs], starts[pairs], 0)
            among = np.where(tried[pairs], counts[pairs], len(seconds))
            return np.asarray(seconds[first + generator.integers(among)])

        return drawn
