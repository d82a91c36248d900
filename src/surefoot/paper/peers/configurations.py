"""The means and variances on which robust ranking and selection is usually tried."""

from __future__ import annotations

from typing import Literal

import numpy as np

from surefoot.arrays import Array

Kind = Literal["SC", "SC2", "MM"]
KINDS: tuple[Kind, ...] = ("SC", "SC2", "MM")
ZONE = 1.0  # the gap in all of them, and the indifference zone that the peers are told
VARIANCE = 4.0


def mean_rewards(kind: Kind, n_arms: int, n_own: int) -> Array:
    """(n_arms, n_own) mean rewards; the first arm is the best, by the zone.

    "SC" (slippage): one pair of each rival is a zone below all other pairs. "SC2": all pairs of the
    rivals are. "MM" (monotone means): steps of one zone over arms and of 0.4 over perturbations.
    """
    costs = np.zeros((n_arms, n_own))
    if kind == "SC":
        costs[1:, 0] = ZONE
    elif kind == "SC2":
        costs[1:] = ZONE
    else:
        costs = ZONE * np.arange(n_arms)[:, None] - 0.4 * ZONE * np.arange(n_own)[None, :]
    return np.asarray(-costs)


def equal_scales(n_arms: int, n_own: int) -> Array:
    """(n_arms, n_own) standard deviations of rewards, all the same."""
    return np.full((n_arms, n_own), np.sqrt(VARIANCE))


def unequal_scales(n_arms: int, n_own: int) -> Array:
    """(n_arms, n_own) standard deviations; variances rise from 1 to 7 over the pairs: the best
    arm, which is the first, is the quietest.
    """
    variances = np.linspace(1, 2 * VARIANCE - 1, n_arms * n_own)
    return np.asarray(np.sqrt(variances).reshape(n_arms, n_own))


def falling_scales(n_arms: int, n_own: int) -> Array:
    """The same in reverse: the best arm is the noisiest."""
    return np.asarray(unequal_scales(n_arms, n_own)[::-1, ::-1])
