"""What a caller gives to a study, checked once at the border."""

from __future__ import annotations

import math
import numbers
from typing import Any

from surefoot.errors import InputError

LARGEST_REWARD = 1e150  # squares of more, summed, are beyond what a float can hold


def finite_reward(pull: int, value: Any) -> float:
    """A reward as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"the reward of pull {pull} is {value!r:.80}: give one finite number")
    try:
        reward = float(value)
    except OverflowError:
        reward = math.inf
    if not abs(reward) < LARGEST_REWARD:
        raise InputError(
            f"the reward of pull {pull} is {reward}: give one finite number of a size below "
            f"{LARGEST_REWARD:g}; use another unit if need be"
        )
    return reward


def pull_count(n: Any) -> int:
    """How many pulls are asked for."""
    if not isinstance(n, numbers.Integral) or n < 1:
        raise InputError(
            f"ask was given n={n!r}: give how many pulls you want, 1 or more, or nothing for all"
        )
    return int(n)


def pull_number(number: Any, asked: int) -> int:
    """The number of a pull, if the study has asked for it."""
    if (
        not isinstance(number, numbers.Integral)
        or isinstance(number, bool)
        or not 0 <= int(number) < asked
    ):
        known = f"pulls 0 to {asked - 1}" if asked else "no pull"
        raise InputError(f"there is no pull {number!r} in this study: it has asked for {known}")
    return int(number)


def whole_seed(seed: Any) -> int:
    """A seed as an int."""
    if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed={seed!r} must be a whole number ≥ 0, or None for a fresh one")
    return int(seed)
