"""The course of a run whose model may be wrong, but by no more than a stated misfit."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.planner import Past, Proposal
from surefoot.algorithms.prime.course import Layout
from surefoot.algorithms.prime.misfit.allocation import BiasedAllocator
from surefoot.algorithms.prime.misfit.clearest import View
from surefoot.algorithms.prime.misfit.contrasts import Choices, to_be_pulled
from surefoot.algorithms.prime.misfit.predictors import Guess, guess
from surefoot.algorithms.prime.modelled import ModelledCourse
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array, IntArray
from surefoot.certify import Boundary, Claims, Commitment
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome

UNIFORM = 1 / 3  # variance of a deviation that may be anything from −1 to 1


class MisfitCourse(ModelledCourse):
    """Every pair's mean is linear in its features up to ε: contrasts between the fit and the pairs
    themselves, each paying for the bias that it may have.

    Looks and boundary are those of a run that trusts its model.
    """

    def __init__(
        self,
        problem: RobustProblem,
        settings: Settings,
        tuning: Tuning,
        boundary: Boundary | None,
    ) -> None:
        super().__init__(problem, settings, tuning, boundary)
        self.biased = BiasedAllocator(self.spread, self.tuning)

    def committed(self, past: Past, commitment: Commitment) -> None:
        super().committed(past, commitment)
        self.biased.weights = self.weights

    def learned(self, past: Past, commitment: Commitment, outcome: Outcome) -> None:
        self.guess = self._guessed(past.tally)
        super().learned(past, commitment, outcome)

    def _choose(self, past: Past) -> Proposal | None:
        view, look = self._view(past.tally), self._look(past)
        allocation = self.biased.allocate(view, self._race(past), self._next_look(past))
        layout = self._laid_out(allocation, past)
        if layout is None:
            return None
        if self.batched:
            layout = self._with_witness(layout, past)
        claims = self._claims(view, layout, look)
        return Proposal(*layout, claims, view.noise)

    def _claims(self, view: View, layout: Layout, look: int) -> list[Claims]:
        """Choose, for each z' of a challenger and each arm, the clearest contrast."""
        pulled = np.flatnonzero(layout.tested)
        choices = Choices(view, to_be_pulled(view, pulled, layout.tested[pulled]))
        unit = float(view.noise[0]) if self.settings.noise.evidence == "residual" else 1.0
        return [choices.claims(ell, arms, look, unit) for ell, arms in self._challenges]

    def _needs_witness(self, used: IntArray) -> bool:
        """Contrasts leave pairs out for good, and each may be the one that is off by more."""
        return True

    @property
    def _means(self) -> Array:
        return self.guess.means

    def _guessed(self, tally: Tally) -> Guess:
        """What all data so far say, as if deviations were anything from −ε to ε."""
        pulled = np.flatnonzero(tally.counts)
        variances = self._noise(tally)[pulled] / tally.counts[pulled]
        deviation = UNIFORM * self.settings.misfit**2
        return guess(self._points, pulled, variances, tally.averages[pulled], deviation)

    def _view(self, tally: Tally) -> View:
        return View(
            self._points,
            self.problem.offsets,
            *self.guess,
            self._noise(tally),
            self.settings.misfit,
            np.array(self.tuning.misfit_own),
            self.tuning.misfit_hopeless,
        )

    @property
    def _points(self) -> Array:
        """(n_pairs, dimension) the pairs in units in which the longest has length 1."""
        return np.asarray(self.coordinates.pairs / self.coordinates.sizes.max())

    def _noise(self, tally: Tally) -> Array:
        """(n_pairs,) variances of single pulls, as known or as data say; ones where they do not."""
        scales, silent = tally.noise_scales, self.tuning.least_noise
        if scales is None:
            return np.ones(len(tally.counts))
        if self.settings.noise.known:
            return np.asarray(scales**2)
        size = float(np.abs(tally.sums / np.maximum(tally.counts, 1)).max())
        return np.asarray(np.maximum(scales, silent * size or 1e-100) ** 2)
