"""Where to pull when contrasts may be chosen: shares and contrasts, improved in turn.

With contrasts a_k fixed, comparison k has after N pulls the signal g_k √N / √(Σ_i a_ki² s_i / λ_i),
and the shares λ that make it likeliest that all are settled follow from the update λ ← λ √gradient.
With shares fixed, each comparison takes its clearest contrast. Nothing here bears on the guarantee.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from surefoot.algorithms.prime.allocation import Allocation, Race
from surefoot.algorithms.prime.finishing import Rivals
from surefoot.algorithms.prime.misfit.clearest import View
from surefoot.algorithms.prime.misfit.contrasts import Choices, Contrasts, to_be_pulled
from surefoot.algorithms.prime.outlook import Outlook, Standing
from surefoot.algorithms.prime.schedule import Look
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.arrays import Array, IntArray
from surefoot.problem.grouping import places_of_smallest

LEAST = 1e-9


class BiasedAllocator:
    """Chooses phase after phase; each search begins at the last phase's shares."""

    def __init__(self, spread: Array, tuning: Tuning) -> None:
        """Begin with the (n_pairs,) weights of λ^G."""
        self.spread, self.weights, self.tuning = spread, spread, tuning

    def allocate(self, view: View, race: Race, look: Look) -> Allocation:
        """Weights and pulls of the next phase."""
        candidates = self._candidates(view, race)
        shares = self.weights[candidates] + 1e-12
        afresh = self.tuning.misfit_afresh
        shares = (1 - afresh) * shares / shares.sum() + afresh / len(candidates)
        noise = view.noise[candidates]
        for _ in range(self.tuning.misfit_turns):
            outlook = self._outlook(view, candidates, shares, race, look)
            if outlook is None:
                return Allocation(self.spread, round(look.size), None)
            horizon = outlook.horizon()
            pressing = outlook.most_pressing(horizon)
            shares = climbed(pressing.rivals(horizon), noise, shares, self.tuning.misfit_climbs)
        self.weights = np.zeros(len(self.spread))
        self.weights[candidates] = shares
        lengths = _lengths(pressing.standing.directions, noise, shares)
        return Allocation(self.weights, pressing.pulls(lengths), None)

    def _candidates(self, view: View, race: Race) -> IntArray:
        """The pairs that may be worth a pull: of a good spread, of the last phase, the leader's,
        and of every other arm the one that seems worst.
        """
        wanted = (self.spread > 0) | (self.weights > LEAST)
        wanted[view.offsets[race.leader] : view.offsets[race.leader + 1]] = True
        wanted[places_of_smallest(view.means, view.offsets)[race.others]] = True
        return np.flatnonzero(wanted)

    def _outlook(
        self, view: View, candidates: IntArray, shares: Array, race: Race, look: Look
    ) -> Outlook | None:
        """What can be expected of contrasts chosen for these shares; None if nothing is open."""
        pulled = to_be_pulled(view, candidates, shares * look.size)
        contrasts = Choices(view, pulled).against(race.leader, race.others)
        standing = _standing(contrasts, race, self.tuning.misfit_slight)
        standing = standing._replace(
            lengths=_lengths(standing.directions, view.noise[candidates], shares)
        )
        open_ = np.flatnonzero(np.isfinite(standing.held) & (standing.lengths > 0))
        return Outlook(standing.take(open_), look, self.tuning.foresight) if len(open_) else None


def _standing(contrasts: Contrasts, race: Race, slight: float) -> Standing:
    """How the leader stands by these contrasts; lengths are those of the last design's shares."""
    directions = contrasts.weights.reshape(-1, contrasts.weights.shape[2])
    doubts = contrasts.doubts.ravel()
    return Standing(
        directions,
        np.maximum(contrasts.gaps.ravel(), slight * doubts + 1e-300),
        doubts,
        np.ones(len(directions)),
        race.held[race.others].T.ravel(),
    )


def climbed(rivals: Rivals, noise: Array, shares: Array, steps: int) -> Array:
    """(n_candidates,) shares under which all rivals are likelier settled.

    Args:
        rivals: what has to be settled, with contrasts as directions.
        noise: (n_candidates,) variances of single pulls.
        shares: (n_candidates,) where to begin.
    """
    squares = rivals.directions**2 * noise
    for _ in range(steps):
        lengths = np.sqrt((squares / shares).sum(axis=1))
        signal = math.sqrt(rivals.pulls) * rivals.gaps / lengths
        score = (signal - rivals.needs) / rivals.spreads
        hazard = -(score**2) / 2 - special.log_ndtr(score)  # its logarithm, up to a constant
        worth = hazard + np.log(signal) - np.log(rivals.spreads * lengths**2)
        gradient = np.exp(worth - worth.max()) @ squares / shares**2
        shares = np.maximum(shares * np.sqrt(gradient), 0.0)
        shares = np.maximum(shares / shares.sum(), LEAST)
    return np.asarray(shares / shares.sum())


def _lengths(directions: Array, noise: Array, shares: Array) -> Array:
    """(n,) deviations of these contrasts for one pull in all."""
    return np.asarray(np.sqrt(directions**2 @ (noise / shares)))
