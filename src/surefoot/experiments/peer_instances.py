"""Instances of those who have the same problem under other names: no model, pairs of their own.

Robust ranking and selection (Fan, Hong and Zhang, 2020) tests its procedures on slippage and
monotone means; maximin action identification (Garivier, Kaufmann and Koolen, 2016) on small games
of coins. Each function gives a problem in which every pair is a dimension, and the means of the
pairs as θ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.experiments.instances import Instance
from surefoot.problem.problem import RobustProblem

STEP = 0.4  # between the perturbations of an arm, where means are monotone


def table(means: ArrayLike) -> Instance:
    """Any (n_arms, n_perturbations) table of mean rewards, nothing known about it."""
    values = np.asarray(means, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"means have shape {values.shape}: give one row per arm")
    arms = np.repeat(np.arange(len(values)), values.shape[1])
    problem = RobustProblem.from_pairs(np.eye(values.size), arms)
    return problem, values.ravel()


def slippage(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """SC: the first arm is best, each other is worse by the gap in its first pair alone: the
    hardest case of a procedure that knows the gap.
    """
    means = np.zeros((n_arms, n_perturbations))
    means[1:, 0] = -gap
    return table(means)


def slippage_everywhere(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """SC2: the same, with each other arm worse by the gap in all its pairs."""
    means = np.zeros((n_arms, n_perturbations))
    means[1:] = -gap
    return table(means)


def monotone_means(n_arms: int = 10, n_perturbations: int = 5, gap: float = 1.0) -> Instance:
    """MM: every arm is worse than the one before by the gap, and every further pair of an arm is
    better than the one before by 0.4 gaps.
    """
    arms, pairs = np.arange(n_arms)[:, None], np.arange(n_perturbations)[None, :]
    return table(gap * (STEP * pairs - arms))


def unequal_scales(n_arms: int = 10, n_perturbations: int = 5) -> Array:
    """(n_pairs,) UV: standard deviations whose squares rise from 1 to 7 over the pairs."""
    return np.sqrt(np.linspace(1.0, 7.0, n_arms * n_perturbations))


GAMES = (
    ((0.4, 0.5), (0.3, 0.35)),
    ((0.4, 0.5), (0.3, 0.45)),
    ((0.45, 0.5, 0.55), (0.35, 0.4, 0.6), (0.3, 0.47, 0.52)),
)


def coin_game(number: int) -> Instance:
    """One of three games (1, 2 or 3) whose rewards are coins: 0 or 1 with these chances. Simulate
    them with family="bernoulli".
    """
    if number not in (1, 2, 3):
        raise InputError(f"there is no game {number!r}: choose 1, 2 or 3")
    return table(GAMES[number - 1])
