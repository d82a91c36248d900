"""Contrasts that pay for their bias.

A contrast has weights a on pulled pairs with Zᵀa = z' − Σ p_j z_j, for shares p of an arm's pairs.
If every mean is zᵀθ + η with |η| ≤ ε, then its mean differs from the gap μ(z') − Σ p_j μ_j by at
most ε b, b = ‖a − e_{z'} + p‖₁.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.algorithms.prime.misfit.clearest import (
    Best,
    Offer,
    Pulled,
    View,
    clearest,
    size_of_bias,
)
from surefoot.algorithms.prime.misfit.predictors import deviation_of, predictor
from surefoot.algorithms.prime.statistic import fitted_claims
from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims


class Contrasts(NamedTuple):
    """A challenger's pairs z' against some arms.

    Attributes:
        weights: (n_own, n_tested, n_pulled) a; zeros where the phase says nothing.
        shares: (n_own, n_pairs) p, for each arm on its own pairs.
        bias: (n_own, n_tested) ε b.
        offers: (n_own, n_tested) which predictor it follows; −1 for none.
        gaps: (n_own, n_tested) what the contrast should show beyond its bias.
        doubts: (n_own, n_tested) standard deviations of these expectations.
    """

    weights: Array
    shares: Array
    bias: Array
    offers: IntArray
    gaps: Array
    doubts: Array


def to_be_pulled(view: View, pairs: IntArray, pulls: Array | IntArray) -> Pulled:
    """A phase of these (n_pulled,) pulls."""
    place = np.full(len(view.means), -1)
    place[pairs] = np.arange(len(pairs))
    return Pulled(pairs, view.noise[pairs] / pulls, place)


class Choices:
    """The contrasts that a phase offers; each comparison takes the one that should say most."""

    def __init__(self, view: View, pulled: Pulled) -> None:
        self.view, self.pulled = view, pulled
        self.offers = []
        for own in view.own:
            weights, hidden = predictor(view.pairs, pulled.pairs, pulled.variances, own)
            known = weights @ view.means[pulled.pairs], weights @ view.located[pulled.pairs]
            self.offers.append(Offer(weights, hidden, *known))

    def against(self, challenger: int, arms: IntArray) -> Contrasts:
        """The clearest contrast of each of the challenger's pairs with each of these arms."""
        offsets = self.view.offsets
        own = np.arange(offsets[challenger], offsets[challenger + 1])
        shape = (len(own), len(arms))
        best = Best(np.zeros(shape), np.zeros((len(own), offsets[-1])), np.full(shape, -1))
        for number, offer in enumerate(self.offers):
            clearest(self.view, self.pulled, offer, (own, arms, number), best)
        return self._formed(own, arms, best)

    def claims(self, challenger: int, arms: IntArray, look: int, unit: float) -> Claims:
        """Commit to these contrasts, with variances in units of which one is this large."""
        found, offsets = self.against(challenger, arms), self.view.offsets
        sizes = np.diff(offsets)[arms]
        shares = np.zeros((*found.offers.shape, int(sizes.max())))
        for a, arm in enumerate(arms):
            shares[:, a, : sizes[a]] = found.shares[:, offsets[arm] : offsets[arm + 1]]
        shares[found.offers < 0] = 0.0
        tried = [deviation_of(self.pulled.variances, own) / unit for own in self.view.own]
        deviation = np.array([*tried, 0.0])[found.offers]
        return fitted_claims(challenger, arms, look, offsets, shares, deviation)

    def _formed(self, own: IntArray, arms: IntArray, best: Best) -> Contrasts:
        pulled, offsets = self.pulled, self.view.offsets
        weights = np.zeros((*best.offer.shape, len(pulled.pairs)))
        bias = np.zeros(best.offer.shape)
        for (k, a), number in np.ndenumerate(best.offer):
            if number < 0:
                continue
            first, last = offsets[arms[a]], offsets[arms[a] + 1]
            offer, shares = self.offers[number], best.shares[k, first:last]
            weights[k, a] = offer.weights[own[k]] - shares @ offer.weights[first:last]
            bias[k, a] = self.view.misfit * size_of_bias(pulled, offer, own[k], first, shares)
        gaps = weights @ self.view.means[pulled.pairs] - bias
        located, alone = self.view.located[pulled.pairs], self.view.alone[pulled.pairs]
        doubts = np.sqrt(((weights @ located) ** 2).sum(axis=2) + weights**2 @ alone)
        return Contrasts(weights, best.shares, bias, best.offer, gaps, doubts)
