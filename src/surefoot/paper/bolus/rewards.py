"""What a pull of the dosing problem may be worth: the paper's reward, and those that clinicians
use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise import Bounded, Gaussian, Noise
from surefoot.paper.glucose.histories import Statistics
from surefoot.paper.glucose.metrics import HIGH, LOW, Statistic


@dataclass(frozen=True)
class Reward:
    """A reward is the sum over a low- and a high-carb day of what each of them is worth.

    Attributes:
        name: what a user types.
        title: what people read; the larger, the better.
        statistics: of a day, from which it is made.
        of_a_day: one day's part.
        noise: what is known about a pull.
    """

    name: str
    title: str
    statistics: tuple[Statistic, ...]
    of_a_day: Callable[[Statistics], Array]
    noise: Noise


RISK = Reward(
    "risk",
    "−(highest risk of a low- and of a high-carb day)",
    ("magni_risk",),
    lambda day: day.reward,
    Gaussian(),
)
TIME_IN_RANGE = Reward(
    "time-in-range",
    f"% of time in {LOW:g}–{HIGH:g} mg/dL",
    ("time_in_range",),
    lambda day: 50 * day["time_in_range"],
    Bounded(0, 100),
)
TIME_BELOW = Reward(
    "time-below",
    f"−(% of time below {LOW:g} mg/dL)",
    ("time_below",),
    lambda day: -50 * day["time_below"],
    Bounded(-100, 0),
)
RISK_INDEX = Reward(
    "risk-index",
    "−(risk index, LBGI + HBGI)",
    ("lbgi", "hbgi"),
    lambda day: -0.5 * day.risk_index,
    Gaussian(),
)
REWARDS = {reward.name: reward for reward in (RISK, TIME_IN_RANGE, TIME_BELOW, RISK_INDEX)}


def find_reward(name: str) -> Reward:
    """The reward of that name."""
    if name not in REWARDS:
        raise InputError(f"reward={name!r} is not known: choose {', '.join(REWARDS)}")
    return REWARDS[name]
