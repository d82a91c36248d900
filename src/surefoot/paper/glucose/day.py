"""Inputs of a day: meals, and the bolus calculator that answers them, with the paper's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.paper.glucose.patients import (
    UNITS_TO_PMOL,
    Patient,
    Patients,
    all_patients,
    patient_array,
)
from surefoot.system.compiled import kernel

if TYPE_CHECKING:
    import pandas as pd

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
        """Return the meals of this patient over all the days."""
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


CARB_RULE, CORRECTION_RULE = 500.0, 1800.0
PUMP_INCREMENT = 0.05  # pmol/min: the reference rounds after converting to pmol, so it hardly shows
PUMP_MAXIMUM = 30.0  # U/min, the "Insulet" pump


@dataclass(frozen=True, eq=False)
class Calculator:
    """bolus = meal / carb_factor + 1[glucose > threshold]·(glucose − target) / correction_factor,
    at meals only.

    Every field is a number or an array; the arrays broadcast with each other and with the other
    lanes' inputs.

    Attributes:
        carb_factor: g of carbohydrates that one unit covers ("CarbF").
        correction_factor: mg/dL by which one unit lowers glucose ("CorrF").
        target: mg/dL to which a high reading is corrected.
        threshold: mg/dL above which a reading is corrected.
    """

    carb_factor: ArrayLike
    correction_factor: ArrayLike
    target: ArrayLike = 140.0
    threshold: ArrayLike = 150.0

    def __post_init__(self) -> None:
        for name in ("carb_factor", "correction_factor", "target", "threshold"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.isfinite(values).all():
                raise InputError(
                    f"{name} has a value that is not finite: give mg/dL, or g/U for carb_factor"
                )
            if name.endswith("factor") and not (values > 0).all():
                raise InputError(f"{name} has the value {values.min()}: factors must be positive")
            object.__setattr__(self, name, values)

    @classmethod
    def baseline(cls, patients: Patients, scale: ArrayLike = 1.0) -> Calculator:
        """Return the rule of 500 and 1800 on each patient's total daily insulin, both factors times
        `scale`.

        The factors have the shape of `patients`.
        """
        people = patient_array(patients)
        daily = np.array([patient.total_daily_insulin for patient in people.ravel()]).reshape(
            people.shape
        )
        return cls(
            np.asarray(scale) * CARB_RULE / daily, np.asarray(scale) * CORRECTION_RULE / daily
        )

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        """The four fields as arrays."""
        return (
            np.asarray(self.carb_factor),
            np.asarray(self.correction_factor),
            np.asarray(self.target),
            np.asarray(self.threshold),
        )


@kernel
def pump_rate(wanted: float) -> float:
    """Return the rate (U/min) that the pump delivers when asked for `wanted`."""
    rounded = np.rint(wanted * UNITS_TO_PMOL / PUMP_INCREMENT) * PUMP_INCREMENT / UNITS_TO_PMOL
    return float(max(min(rounded, PUMP_MAXIMUM), 0.0))


@kernel
def bolus_units(
    grams: float, reading: float, carb: float, correction: float, target: float, threshold: float
) -> float:
    """Return the units that the calculator proposes for a meal."""
    units = grams / carb
    if reading > threshold:
        units += (reading - target) / correction
    return units


ORDER = ("adult", "adolescent", "child")


def patient_table() -> pd.DataFrame:
    """Patient, CarbF (g/U), CorrF (mg/dL per U), Age (years) and TDI (U/day) in the paper's order,
    unrounded.
    """
    import pandas as pd  # here, so that simulating does not wait for pandas to load

    patients = sorted(
        all_patients(), key=lambda patient: (ORDER.index(patient.group), patient.name)
    )
    calculator = Calculator.baseline(patients)
    return pd.DataFrame(
        {
            "Patient": [patient.name for patient in patients],
            "CarbF": calculator.carb_factor,
            "CorrF": calculator.correction_factor,
            "Age": [patient.age for patient in patients],
            "TDI": [patient.total_daily_insulin for patient in patients],
        }
    )
