"""What to pull in order to learn who matters: Thompson samples of the best two arms.

Nothing here bears on the guarantee: pulls of the pilot choose, and do not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.compiled import kernel
from surefoot.guides import Guess

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
    n_pairs = len(guess.means)
    draws = int(np.clip(MOST_NUMBERS // n_pairs, 16, wanted.number))
    generator = np.random.default_rng(np.random.SeedSequence((n_pairs, wanted.seed)))
    means = guess.means + guess.deviations * generator.standard_normal((draws, n_pairs))
    best, interest = _counted(means, offsets, alive)
    return Opinion(best / draws, interest / interest.sum())


@kernel
def _counted(
    means: Array, offsets: IntArray, alive: NDArray[np.bool_]
) -> tuple[IntArray, IntArray]:
    """(n_arms,) in how many draws each arm is best, and (n_pairs,) in how many each pair is the
    worst of one of the best two; the first of equals.
    """
    n_arms = len(offsets) - 1
    best, interest = np.zeros(n_arms, dtype=np.int64), np.zeros(means.shape[1], dtype=np.int64)
    for draw in means:
        first = second = -np.inf
        arm, pairs = 0, np.full(2, -1)
        for k in range(n_arms):
            if not alive[k]:
                continue
            pair = offsets[k] + np.argmin(draw[offsets[k] : offsets[k + 1]])
            if draw[pair] > first:
                first, second, arm = draw[pair], first, k
                pairs[0], pairs[1] = pair, pairs[0]
            elif draw[pair] > second:
                second, pairs[1] = draw[pair], pair
        best[arm] += 1
        for pair in pairs:
            if pair >= 0:
                interest[pair] += 1
    return best, interest
