"""The rarity of events that the deciding pulls must have seen, and the cost that an unseen one
would need.

An event that happens in a share π of a pair's pulls, and in none of the first n, is missed with
probability (1 − π)ⁿ, whenever a run ends: docs/unseen.md has the theorem and its proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.design.whitening import cholesky_whitener

if TYPE_CHECKING:
    from surefoot.algorithms.result import Result

LIGHT = 5.0  # largest standard deviations below which a cost is worth a warning
STEP = 0.2  # share by which pulls grow, where an unseen event could cost too little
SHARE = 0.1  # of the largest weight, from which on a pair decides where a model is trusted


class _PairLeads(NamedTuple):
    """Leads of the answer's pairs over rivals, by the contrasts that are clearest.

    Attributes:
        leads: (n_own, n_rivals) in the unit of rewards.
        shares: (n_own, n_rivals) the largest loss of these leads by an unseen event of cost 1 in
            one pair.
        own, rivals: (n_own,) and (n_own, n_rivals) the pairs that are compared.
    """

    leads: Array
    shares: Array
    own: IntArray
    rivals: IntArray

    @property
    def costs(self) -> Array:
        """(n_own, n_rivals) that an unseen event would have to have; 0 or less without a lead."""
        return np.asarray(self.leads / self.shares)


@dataclass(frozen=True)
class Unseen:
    """The events that a certificate cannot have seen.

    Attributes:
        pulls: of each pair that decides, at least.
        rarity: events in a larger share of the pulls of any one pair were seen, with the
            confidence of the answer.
        cost: the least cost, or gain of a rival, of each unseen event in a pair that would change
            the answer, by estimates of leads.
        certified_cost: this cost by lower bounds of leads, 0 without any: too large with
            probability 2 delta at most.
        largest: the largest standard deviation of any pair, as far as known.
    """

    pulls: int
    rarity: float
    cost: float
    certified_cost: float
    largest: float | None

    @property
    def light(self) -> bool:
        """True if the cost is so small that quiet pairs may have misled."""
        return self.largest is not None and self.cost < LIGHT * self.largest

    @property
    def sentence(self) -> str:
        """A sentence on the pulls, on events that they may have missed, and on the cost these would
        need.
        """
        seen = f"Every pair that decides was pulled at least {self.pulls} times"
        rare = f"what happens in fewer than 1 of {_ratio(self.rarity)} pulls may not have been seen"
        if self.pulls < 1:
            seen, rare = "A pair that decides was not pulled", "what happens there was not seen"
        if self.cost <= 0:
            return f"{seen}: {rare}; at any cost it could change the answer."
        how = "estimated"
        if self.certified_cost > 0:
            how += f", and {min(self.certified_cost, self.cost):.3g} for certain"
        return (
            f"{seen}: {rare}; it would have to cost more than about {self.cost:.3g} ({how}) to "
            "change the answer."
        )

    @property
    def warning(self) -> str | None:
        """The advice if the cost is small; None otherwise."""
        if not self.light:
            return None
        return (
            f"An unseen event of {LIGHT:g} times the largest standard deviation would change the "
            "answer: if there may be one, set rarest, such as 0.02 for 1 in 50 pulls."
        )


def unseen_by(result: Result) -> Unseen | None:
    """Return the unseen events of a result; None if it is no certificate that rests on pulls, or
    if the range of the rewards is known: that certificate holds whatever is rare.
    """
    limited = result.settings.noise.limits is not None
    if not result.reason.certifies or not result.samples or limited:
        return None
    if result.settings.limits or result.settings.aim == "beat baseline":
        return None  # an answer rests on more than the lead of one arm over all others
    if not result.settings.worst_case:  # mixtures of pairs: an event counts by its weight
        return None
    leads, sure = _leads(result, certified=False), _leads(result, certified=True)
    if leads is None:
        return None
    deciding, scales = _deciding(result, leads), result.noise_scales
    return Unseen(
        pulls=int(result.counts[deciding].min()),
        rarity=float(rarities(result.counts, result.settings.delta)[deciding].max()),
        cost=max(float(leads.costs.min()), 0.0),
        certified_cost=0.0 if sure is None else max(float(sure.costs.min()), 0.0),
        largest=None if scales is None else float(scales[result.counts > 0].max()),
    )


def pulls_beyond(result: Result, cost: float) -> IntArray:
    """Return (n_pairs,) more pulls of pairs for which the certified cost is smaller than this."""
    leads, counts = _leads(result, certified=True), np.zeros_like(result.counts)
    if leads is not None:
        own, column = np.nonzero(leads.costs < cost)
        wanting = np.concatenate([leads.own[own], leads.rivals[own, column]])
        counts[wanting] = np.maximum(np.ceil(STEP * result.counts[wanting]), 1)
    return counts


def rarities(counts: IntArray, alpha: float) -> Array:
    """Return (n_pairs,) the share of pulls from which on an event was seen in each pair.

    What never happened in n pulls of a pair has a probability below 1 − α^{1/n} with probability
    1 − α, whenever and why ever pulls end.
    """
    return np.where(counts > 0, -np.expm1(np.log(alpha) / np.maximum(counts, 1)), 1.0)


def pulls_for(rarest: float, alpha: float) -> int:
    """Return the pulls that see an event of this probability with probability 1 − α."""
    return int(np.ceil(np.log(alpha) / np.log1p(-rarest))) if rarest < 1 else 1


def _leads(result: Result, certified: bool) -> _PairLeads | None:
    shares = rarities(result.counts, result.settings.delta)
    if not result.settings.modelled:
        return _by_pairs(result, shares, certified)
    return None if certified else _by_the_model(result, shares)


def _by_pairs(result: Result, shares: Array, certified: bool) -> _PairLeads:
    """Compare each pair of the answer with the pair of every rival that is clearest below it."""
    problem, pulled, ease = result.problem, result.counts > 0, result.settings.tolerance
    own = np.arange(problem.n_pairs)[problem.pairs_of(result.arm)]
    means = np.where(pulled, result.pair_averages, np.inf)
    leads = np.where(pulled[own], means[own], -np.inf)[:, None] - means + ease
    taken = np.maximum(shares[own][:, None], shares)
    others = np.delete(np.arange(problem.n_arms), result.arm)
    slices = [problem.pairs_of(arm) for arm in others.tolist()]
    costs = leads / taken
    clearest = [costs[:, each].argmax(axis=1) + each.start for each in slices]
    rivals = np.stack(clearest, axis=1)
    if certified:
        leads = result.pair_lower[own][:, None] - result.pair_upper + ease
    return _PairLeads(
        np.take_along_axis(leads, rivals, axis=1),
        np.take_along_axis(taken, rivals, axis=1),
        own,
        rivals,
    )


def _by_the_model(result: Result, shares: Array) -> _PairLeads | None:
    """Compare fitted means: an event in any pulled pair moves them by its weight in the fit."""
    problem, settings = result.problem, result.settings
    weights = _weights(result)
    if weights is None:
        return None
    pulled, matrix = weights
    own = np.arange(problem.n_pairs)[problem.pairs_of(result.arm)]
    others = np.delete(np.arange(problem.n_arms), result.arm)
    rivals = problem.worst_pairs_of(result.pair_means)[others]
    leads = result.pair_means[own][:, None] - result.pair_means[rivals] + settings.tolerance
    taken = np.zeros_like(leads)
    unit = np.eye(problem.n_pairs)[:, pulled] if settings.misfit else None
    for row, pair in enumerate(own):
        contrast = matrix[pair] - matrix[rivals]
        taken[row] = (np.abs(contrast) * shares[pulled]).max(axis=1)
        if unit is not None:
            beside = np.abs(contrast - (unit[pair] - unit[rivals])).sum(axis=1)
            unpulled = (result.counts[pair] == 0) + (result.counts[rivals] == 0)
            leads[row] -= settings.misfit * (beside + unpulled)
    rivals = np.broadcast_to(rivals, leads.shape)
    return _PairLeads(leads, np.maximum(taken, 1e-300), own, rivals)


def _weights(result: Result) -> tuple[IntArray, Array] | None:
    """Return the pulled pairs, and (n_pairs, n_pulled) the weights of their averages in each
    mean."""
    problem, pulled = result.problem, np.flatnonzero(result.counts)
    scales = result.settings.noise.scales(problem.n_pairs)
    rows = problem.pairs[pulled] / scales[pulled][:, None]
    whitener = cholesky_whitener(rows.T @ (rows * result.counts[pulled][:, None]))
    if whitener is None:
        return None
    each = (rows / scales[pulled][:, None]) * result.counts[pulled][:, None]
    return pulled, (problem.pairs @ whitener.T) @ (each @ whitener.T).T


def _deciding(result: Result, leads: _PairLeads) -> IntArray:
    """Return the pairs that the answer rests on."""
    costs = leads.costs
    if not result.settings.modelled:
        hardest = costs.argmin(axis=0)
        rivals = leads.rivals[hardest, np.arange(costs.shape[1])]
        return np.unique(np.concatenate([leads.own, rivals]))
    weights = _weights(result)
    assert weights is not None
    pulled, matrix = weights
    row, column = np.unravel_index(int(costs.argmin()), costs.shape)
    size = np.abs(matrix[leads.own[row]] - matrix[leads.rivals[row, column]])
    return np.asarray(pulled[size >= SHARE * size.max()])


def _ratio(rarity: float) -> str:
    """Return 1 over a share, to two digits."""
    return f"{float(f'{1 / rarity:.2g}'):g}"
