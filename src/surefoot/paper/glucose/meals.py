"""What is eaten, and when: scenarios of meals, and the low- and high-carb days of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.paper.glucose.patients import Patient

MINUTES_A_DAY = 1440
EATING_RATE = 5.0  # g/min at most

MEAL_MINUTES = (420, 570, 720, 900, 1080, 1290)
MEAL_SHARES = (0.250, 0.035, 0.295, 0.035, 0.350, 0.035)
DAY_FACTORS = {"low": 0.75, "high": 1.25}


@dataclass(frozen=True)
class Scenario:
    """Meals at whole minutes, in order of time; nothing repeats by itself.

    Attributes:
        minutes: When each meal starts, in minutes after the start; strictly increasing.
        grams: Carbohydrates of each meal in g.
        horizon: How long the simulation lasts, in minutes.
    """

    minutes: tuple[int, ...] = ()
    grams: tuple[float, ...] = ()
    horizon: int = MINUTES_A_DAY

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "minutes", tuple(_whole(minute, "meal time") for minute in self.minutes)
        )
        object.__setattr__(
            self, "grams", tuple(_number(amount, "amount of a meal") for amount in self.grams)
        )
        object.__setattr__(self, "horizon", _whole(self.horizon, "horizon"))
        self._check()

    def _check(self) -> None:
        if self.horizon <= 0:
            raise InputError(f"the horizon is {self.horizon} min: it must be positive")
        if len(self.minutes) != len(self.grams):
            raise InputError(
                f"the scenario has {len(self.minutes)} meal times but "
                f"{len(self.grams)} amounts: give one each"
            )
        for amount in self.grams:
            if not (np.isfinite(amount) and amount >= 0):
                raise InputError(f"a meal of {amount} g: amounts must be finite and not negative")
        for before, after in zip(self.minutes, self.minutes[1:], strict=False):
            if after <= before:
                raise InputError(
                    f"the meal at minute {after} follows the one at minute {before}: "
                    "list meals in order of time, and join meals of the same minute"
                )
        for minute in self.minutes:
            if not 0 <= minute < self.horizon:
                raise InputError(
                    f"the meal at minute {minute} lies outside the simulation: "
                    f"times run from 0 to {self.horizon - 1}; a longer horizon is horizon=..."
                )

    @classmethod
    def from_hours(cls, meals: Iterable[tuple[float, float]], days: float = 1) -> Scenario:
        """Meals as (hour, grams), over some days; hours are rounded to the minute, as simglucose
        does.
        """
        listed = list(meals)
        for hour, _ in listed:
            if not np.isfinite(hour):
                raise InputError(f"a meal at hour {hour}: times must be finite")
        return cls(
            tuple(round(hour * 60) for hour, _ in listed),
            tuple(amount for _, amount in listed),
            _whole(days * MINUTES_A_DAY, "horizon"),
        )

    def announced(self) -> Array:
        """Grams that begin at each minute, (horizon,)."""
        amounts = np.zeros(self.horizon)
        amounts[list(self.minutes)] = self.grams
        return amounts


@dataclass(frozen=True)
class Diet:
    """Low- and high-carb days in any order, sized for whoever eats them.

    A patient's day holds `daily_carbohydrates` × 0.75 ("low") or × 1.25 ("high"), in six meals.
    """

    days: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "days", tuple(self.days))
        unknown = [day for day in self.days if day not in DAY_FACTORS]
        if unknown or not self.days:
            raise InputError(
                f"the days are {list(self.days)}: give at least one, each 'low' or 'high'"
            )

    def scenario(self, patient: Patient) -> Scenario:
        """The meals of this patient over all the days."""
        return _diet_scenario(self.days, patient.daily_carbohydrates)


def diet(*days: str) -> Diet:
    """`diet("low", "high")`: a low-carb day, then a high-carb day, sized for each patient."""
    return Diet(days)


@lru_cache(maxsize=1024)
def _diet_scenario(days: tuple[str, ...], daily_grams: float) -> Scenario:
    starts = [day * MINUTES_A_DAY for day in range(len(days))]
    return Scenario(
        tuple(start + minute for start in starts for minute in MEAL_MINUTES),
        tuple(daily_grams * DAY_FACTORS[day] * share for day in days for share in MEAL_SHARES),
        len(days) * MINUTES_A_DAY,
    )


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"the {what} is {value!r}: give a number") from None


def _whole(value: Any, what: str) -> int:
    number = _number(value, what)
    if not number.is_integer():
        raise InputError(f"the {what} is {value} min: the simulator works in whole minutes")
    return int(number)
