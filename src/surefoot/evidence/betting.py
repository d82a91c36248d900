"""Evidence from rewards of which nothing is known but their range: the logarithm of a wealth.

Someone who doubts that x is best bets on it, batch after batch: a stake λ on a contrast D turns
wealth w into w (1 + λ D). If the contrast's mean is at most zero, the game is not in the gambler's
favour, and by Ville's inequality the wealth ever reaches 1/δ with probability at most δ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array

BOLDEST = 0.8  # share of the wealth that a single batch may take, at most
# Batches of a contrast of zero that are added to what was seen: who led after a few pulls was
# lucky, and stakes that believe it lose wealth that has to be won back.
SCEPTICAL = 12.0


class Prior(NamedTuple):
    """What the past says about contrasts; stakes come from it and from earlier batches.

    Attributes:
        means: (…) expected contrasts.
        doubts: (…) standard deviations of these expectations.
        variances: (…) of a single batch's contrast.
        loss: how far below zero a contrast can be.
        aim: added to what is expected when a stake is chosen.
    """

    means: Array
    doubts: Array
    variances: Array
    loss: float
    aim: float = 0.0


def log_wealth(values: Array, prior: Prior, shift: float) -> tuple[Array, Array]:
    """(…) log Π (1 + λ_b D_b) of (m, …) contrasts, and the same with `shift` added to each.

    Both use the same stakes: else they would be two games. A stake maximises the wealth's growth
    as far as the past and the batches before tell: mean / (variance + mean²). Whoever waits for the
    shifted one aims at the shifted mean: where only the shift is above zero, others stake nothing.
    """
    stakes = _stakes(values, prior)
    return _growth(stakes, values), _growth(stakes, values + shift)


def _growth(stakes: Array, values: Array) -> Array:
    return np.asarray(np.log1p(stakes * values).sum(axis=0))


def _stakes(values: Array, prior: Prior) -> Array:
    """(m, …) each from the batches before it: the expectation is updated as for normal values."""
    before = np.cumsum(values, axis=0) - values
    number = np.arange(len(values)).reshape(-1, *([1] * (values.ndim - 1)))
    belief = prior.variances / np.maximum(prior.doubts, 1e-300) ** 2  # worth this many batches
    mean = (belief * prior.means + before) / (belief + number + SCEPTICAL) + prior.aim
    best = mean / (prior.variances + mean**2)
    return np.asarray(np.clip(best, 0.0, BOLDEST / prior.loss))
