"""All pairs' means as past data say, before a phase: where a model is trusted, and where not.

The linear model and a pair's own deviation from it make one mixed model: with misfit 0 it is least
squares, and the larger the misfit the more a pulled pair keeps of its own residual. Without a model
a guide guesses. Nothing here bears on the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.algorithms.fitting import least_squares
from surefoot.arrays import Array, IntArray
from surefoot.design.designs import g_weights
from surefoot.design.whitening import measured_root, whiten_exactly
from surefoot.guides import Guess
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts

UNIFORM = 1 / 3  # variance of a deviation that may be anything from −1 to 1
SPREAD_TOLERANCE = 0.02  # of the G-optimal design, which only explores
# shares of a pair's own residual that contrasts try, from the fit to direct differences
TRIED = (0.0, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0)


class View(NamedTuple):
    """The means as they are known before a phase.

    Attributes:
        means: (n_pairs,) expected rewards.
        located: (n_pairs, any) where squared distances, together with both pairs' `alone`, are
            variances of expected differences.
        alone: (n_pairs,) variances that each pair has for itself.
        noise: (n_pairs,) variances of single pulls.
    """

    means: Array
    located: Array
    alone: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class Space:
    """The pairs as a trust sees them; it stays as it is for a whole run.

    Attributes:
        offsets: (n_arms + 1,) where each arm's pairs begin.
        features: (n_pairs, dimension) of mean square 1; no columns where there is no model.
        misfit: ε, how far means may be from the model.
        spread: (n_pairs,) weights of the G-optimal design; even where there is no model.
    """

    offsets: IntArray
    features: Array
    misfit: float
    spread: Array

    @classmethod
    def of(cls, problem: RobustProblem, scales: Array, misfit: float) -> Space:
        """Look at a problem with a trust, where noise has these scales as far as known."""
        if np.isinf(misfit):
            n = problem.n_pairs
            return cls(problem.offsets, np.zeros((n, 0)), misfit, np.full(n, 1 / n))
        features, _ = whiten_exactly(problem.pairs, problem.pairs)
        spread = g_weights(problem, scales, SPREAD_TOLERANCE)
        return cls(problem.offsets, np.ascontiguousarray(features), misfit, spread)

    @property
    def modelled(self) -> bool:
        return bool(np.isfinite(self.misfit))

    @property
    def exact(self) -> bool:
        return self.misfit == 0

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

    @property
    def tried(self) -> tuple[float, ...]:
        """Shares of a pair's own residual that contrasts may keep."""
        return TRIED[:1] if self.exact else TRIED

    def fitted(self, counts: Counts, sums: Array, noise: Array) -> View:
        """Return estimates from all data so far, as if deviations were uniform between −ε and ε.

        Args:
            counts, sums: (n_pairs,) pulls so far, and their summed rewards.
            noise: (n_pairs,) variances of single pulls.
        """
        rows, deviation = self.features, UNIFORM * self.misfit**2
        pulled, kept = np.flatnonzero(counts), np.zeros(len(counts))
        averages, total = np.zeros(len(counts)), np.full(len(counts), np.inf)
        averages[pulled] = sums[pulled] / counts[pulled]
        total[pulled] = noise[pulled] / counts[pulled] + deviation
        kept[pulled] = deviation / total[pulled]
        theta = least_squares(rows, 1 / total, averages / total, np.ones(len(counts)))
        means = rows @ theta
        root, _ = measured_root(rows[pulled] / np.sqrt(total[pulled])[:, None])
        located = rows @ root
        if deviation:
            means += kept * (averages - means)
            located *= (1 - kept)[:, None]
        return View(means, located, deviation * (1 - kept), noise)

    def guessed(self, guess: Guess, noise: Array) -> View:
        """Return a guide's guess."""
        located = np.zeros((len(noise), 0))
        return View(guess.means, located, guess.deviations**2, noise)
