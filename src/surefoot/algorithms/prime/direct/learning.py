"""What to pull in order to learn who matters: Thompson samples of the best two arms.

Nothing here bears on the guarantee: pulls of the pilot choose, and do not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.guides import Guess
from surefoot.problem.grouping import smallest_of

MOST_NUMBERS = 4_000_000  # drawn at once


class Draws(NamedTuple):
    """How many draws, at most, and the seed that they follow from."""

    number: int
    seed: int


class Opinion(NamedTuple):
    """What draws from a guess say.

    Attributes:
        best: (n_arms,) how often each arm is best.
        interest: (n_pairs,) how often each pair is the worst of one of the best two arms.
    """

    best: Array
    interest: Array


def opinion(guess: Guess, offsets: IntArray, alive: NDArray[np.bool_], wanted: Draws) -> Opinion:
    """Draw means as the guess says, and see who is best. The same seed gives the same answer."""
    n_arms, n_pairs = len(offsets) - 1, len(guess.means)
    draws = int(np.clip(MOST_NUMBERS // n_pairs, 16, wanted.number))
    generator = np.random.default_rng(np.random.SeedSequence((n_pairs, wanted.seed)))
    means = guess.means + guess.deviations * generator.standard_normal((draws, n_pairs))
    values = np.where(alive, smallest_of(means, offsets), -np.inf)
    best, interest = np.zeros(n_arms), np.zeros(n_pairs)
    arm_of_pair = np.repeat(np.arange(n_arms), np.diff(offsets))
    for place in range(min(2, int(alive.sum()))):
        chosen = values.argmax(axis=1)
        if place == 0:
            best = np.bincount(chosen, minlength=n_arms) / draws
        own = np.where(arm_of_pair == chosen[:, None], means, np.inf)
        interest += np.bincount(own.argmin(axis=1), minlength=n_pairs)
        values[np.arange(draws), chosen] = -np.inf
    return Opinion(best, interest / interest.sum())
