"""The requirements on phases for each kind of noise, so that they give evidence."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surefoot.algorithms.planner import Past
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.certify import Stakes
from surefoot.noise.base import drawn_together, worth_of_pooled
from surefoot.plan.contrasts import Race
from surefoot.plan.tuning import Tuning
from surefoot.statistics import Counts

SILENT = 1e-6  # noise that is planned for at least, as a share of the largest mean
LEAST_NOISE = 1e-200
SKEW_MOST = 400  # pulls of a pair that skewness asks for at most
FREEDOM = 10  # residual degrees of freedom of a phase where the noise is unknown
LOSS = 0.9  # loss of information by m batches, times m + 1


class Evidence:
    """Normal or sub-Gaussian noise of known scales: any phase will do.

    Attributes:
        least_batches: fewest batches of a phase; 0 if it needs no batches.
        most_batches: batches beyond which more make no difference.
        whole: whether only pulls in batches count.
    """

    least_batches = 0
    most_batches = 0
    whole: ClassVar[bool] = False

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning

    def variances(self, tally: Tally) -> Array:
        """Return (n_pairs,) variances of single pulls, known or estimated."""
        return np.asarray(tally.scales**2)

    def least_pulls(self, past: Past, race: Race, rivals: IntArray) -> int:
        """Return the pulls of each pair that is compared directly."""
        return max(self.least_batches, 1)

    def least_phase(self, dimension: int) -> int:
        """Return the pulls of a phase that a model is fitted to."""
        return 1

    def unit(self, noise: Array) -> float:
        """Return the unit of guessed variances of single pulls: the kernel's own is 1."""
        return 1.0

    def batches_for(self, wanted: Counts) -> int:
        """Return the number of batches of a phase with these wanted counts; 0: no batches.

        Every pair needs as many pulls as there are batches; t statistics of few batches lose.
        """
        if not self.least_batches:
            return 0
        choices = np.arange(self.least_batches, max(self.most_batches, self.least_batches) + 1)
        raised = np.maximum(wanted[:, None], choices).sum(axis=0)
        return int(choices[(raised / (1 - LOSS / (choices + 1))).argmin()])

    def stakes(self, gaps: Array, doubts: Array, batch: Array, tolerance: float) -> Stakes | None:
        """Return the guesses that bets follow from, where evidence is a wealth."""
        return None


class _PooledEvidence(Evidence):
    """One unknown scale: Student's t by the residuals of the phase itself."""

    def variances(self, tally: Tally) -> Array:
        if tally.settings.misfit == 0:  # residuals tell more than replicates
            return _audible(np.full(len(tally.counts), tally.residual_variance), tally)
        return _audible(_replicated(tally), tally)

    def least_pulls(self, past: Past, race: Race, rivals: IntArray) -> int:
        return 3

    def least_phase(self, dimension: int) -> int:
        return dimension + FREEDOM

    def unit(self, noise: Array) -> float:
        return float(noise[0])  # the kernel takes all for 1


class _BatchEvidence(Evidence):
    """Any unknown scales: Student's t over batches."""

    most_batches = 30

    def __init__(self, tuning: Tuning) -> None:
        super().__init__(tuning)
        self.least_batches = tuning.score_least

    def variances(self, tally: Tally) -> Array:
        """Draw pairs' own variances together as far as they seem alike, where a model is trusted.

        A design for levels that merely seem to differ costs pulls.
        """
        scatter, freedom = tally.scatter, tally.freedom
        if not tally.settings.modelled:
            return _audible(_replicated(tally), tally)
        alike = drawn_together(scatter, freedom, worth_of_pooled(scatter, freedom, 1e6))
        return _audible(alike, tally)

    def least_pulls(self, past: Past, race: Race, rivals: IntArray) -> int:
        """Return as many as the means of compared differences need to be nearly normal.

        Only rare falls count: rare rises make a difference seem smaller than it is.
        """
        assert past.doubt is not None
        first = int(past.problem.offsets[race.leader])
        skewness = past.doubt.skewnesses(race.leader)[np.ix_(race.own - first, rivals)]
        most = -float(skewness.min(initial=0.0))
        wanted = min(self.tuning.skew_pulls * most**2, SKEW_MOST)
        return max(self.least_batches, int(wanted))

    def least_phase(self, dimension: int) -> int:
        return dimension + FREEDOM


class _WealthEvidence(Evidence):
    """Nothing but the range of the rewards is known: the logarithm of a wealth."""

    least_batches, most_batches = 4, 2000
    whole = True

    def variances(self, tally: Tally) -> Array:
        return _replicated(tally)

    def batches_for(self, wanted: Counts) -> int:
        return int(np.clip(wanted.min(), self.least_batches, self.most_batches))

    def stakes(self, gaps: Array, doubts: Array, batch: Array, tolerance: float) -> Stakes | None:
        return Stakes(gaps, doubts, batch, self.tuning.wealth_aim * tolerance)


def evidence_for(settings: Settings, tuning: Tuning) -> Evidence:
    """Return the requirements on phases for these settings; a model takes bounds for scales."""
    kind = settings.noise.evidence
    return KINDS["scales" if kind == "wealth" and settings.modelled else kind](tuning)


KINDS: dict[str, type[Evidence]] = {
    "scales": Evidence,
    "residual": _PooledEvidence,
    "batches": _BatchEvidence,
    "wealth": _WealthEvidence,
}


def _replicated(tally: Tally) -> Array:
    """Return (n_pairs,) variances of single pulls, by replicates alone."""
    return tally.settings.noise.variances(tally.scatter, tally.freedom)


def _audible(variances: Array, tally: Tally) -> Array:
    """Return the variances, raised where gaps in deviations would overflow."""
    size = float(np.abs(tally.sums / np.maximum(tally.counts, 1)).max())
    return np.maximum(variances, max((SILENT * size) ** 2, LEAST_NOISE))
