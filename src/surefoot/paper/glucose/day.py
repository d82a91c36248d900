"""Virtual patients and their days: parameters, meals, and the bolus calculator that answers them.

The figures are shipped; the calculator has the paper's table.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.system.compiled import kernel

if TYPE_CHECKING:
    import pandas as pd

UNITS_TO_PMOL = 6000.0  # pmol of insulin in one unit

CHILD_WEIGHT_LIMITS = (25.6, 28.6, 32.0, 35.6, 39.9)
CHILD_HEIGHTS = (121.9, 128.0, 133.3, 138.4, 143.5, 149.1)
ADOLESCENT_WEIGHT_LIMITS = (50.8, 56.0, 60.8, 64.4, 66.9, 68.9, 70.3)
ADOLESCENT_HEIGHTS = (156.2, 163.8, 170.1, 173.4, 175.2, 175.7, 176.5, 177.0)


class Physiology(NamedTuple):
    """The parameters of the 13-state model, under the names the UVA/Padova literature gives them.

    Masses are per kilogram of body weight: mg/kg for glucose, pmol/kg for insulin. Rates are per
    minute.
    """

    BW: float
    kabs: float
    kmax: float
    kmin: float
    b: float
    d: float
    f: float
    kp1: float
    kp2: float
    kp3: float
    Fsnc: float
    ke1: float
    ke2: float
    k1: float
    k2: float
    Vm0: float
    Vmx: float
    Km0: float
    Vg: float
    Vi: float
    Ib: float
    m1: float
    m2: float
    m4: float
    m30: float
    p2u: float
    ki: float
    ka1: float
    ka2: float
    kd: float
    ksc: float


@dataclass(frozen=True)
class Patient:
    """One virtual patient.

    Attributes:
        name: Group and number, such as "adult#001".
        age: Years, as in the package's questionnaire (and in the paper's table of patients).
        total_daily_insulin: TDI in U/day.
        tuned_carb_factor: The package's own carbohydrate factor, g/U.
        tuned_correction_factor: The package's own correction factor, mg/dL per U.
        basal: The steady insulin infusion that keeps the fasting patient level, U/min.
        physiology: The parameters of the model.
        initial_state: The 13 states at minute 0.
    """

    name: str
    age: int
    total_daily_insulin: float
    tuned_carb_factor: float
    tuned_correction_factor: float
    basal: float
    physiology: Physiology = field(repr=False)
    initial_state: tuple[float, ...] = field(repr=False)

    @property
    def group(self) -> str:
        """One of "adult", "adolescent" and "child"."""
        return self.name.partition("#")[0]

    @property
    def weight(self) -> float:
        """Body weight in kg."""
        return self.physiology.BW

    @property
    def diet_age_and_height(self) -> tuple[float, float]:
        """Years and cm by which meals are sized.

        The tables hold no height. As in Fox et al. (2020), which the paper builds on, age and
        height follow
        from group and weight: so this age is not `age`.
        """
        if self.group == "adult":
            return 45.0, 177.0
        child = self.group == "child"
        limits = CHILD_WEIGHT_LIMITS if child else ADOLESCENT_WEIGHT_LIMITS
        heights = CHILD_HEIGHTS if child else ADOLESCENT_HEIGHTS
        step = sum(self.weight > limit for limit in limits)
        return float((7 if child else 13) + step), heights[step]

    @property
    def basal_metabolic_rate(self) -> float:
        """Harris-Benedict estimate in kcal/day (the paper's appendix)."""
        age, height = self.diet_age_and_height
        return 66.5 + 13.75 * self.weight + 5.003 * height - 6.755 * age

    @property
    def daily_carbohydrates(self) -> float:
        """Expected carbohydrates in g/day: 45 % of the energy, at 4 kcal a gram."""
        return self.basal_metabolic_rate * 0.45 / 4


Patients = str | Patient | Sequence[str] | Sequence[Patient] | NDArray[Any]


@cache
def figures() -> Mapping[str, Any]:
    """Return the shipped data file: patients, sensors and pumps, with their source and licence."""
    text = (
        resources.files("surefoot.paper.glucose")
        .joinpath("virtual_patients.json")
        .read_text(encoding="utf-8")
    )
    return dict(json.loads(text))


@cache
def all_patients() -> tuple[Patient, ...]:
    """Return the 30 patients: adolescents, adults, children, each by number."""
    return tuple(_read(record) for record in figures()["patients"])


@cache
def _by_name() -> dict[str, Patient]:
    return {patient.name: patient for patient in all_patients()}


def find_patient(name: str | Patient) -> Patient:
    """Return the patient of that name; an unknown name is an error that offers the nearest."""
    if isinstance(name, Patient):
        return name
    patients = _by_name()
    if isinstance(name, str) and name in patients:
        return patients[name]
    raise InputError(
        f"there is no virtual patient {name!r}: did you mean "
        f"{_nearest(str(name), list(patients))!r}? "
        "Names run from adolescent#001, adult#001 and child#001 to #010."
    )


def patient_array(given: Patients) -> NDArray[np.object_]:
    """Return an array of patients, from names or patients of any shape."""
    names = object_array(given, (str, Patient), "patients")
    found = np.empty(names.shape, dtype=object)
    found.ravel()[:] = [find_patient(name) for name in names.ravel()]
    return found


def object_array(given: Any, kinds: tuple[type, ...], what: str) -> NDArray[np.object_]:
    """Return one object or nested sequences of them as an object array; anything else is an
    error.
    """
    values = np.empty(() if isinstance(given, kinds) else np.shape(given), dtype=object)
    values[...] = given
    for value in values.ravel():
        if not isinstance(value, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{what} holds {value!r}: give {names}, or arrays of them")
    return values


def _nearest(name: str, names: list[str]) -> str:
    return difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.0)[0]


def _read(record: Mapping[str, Any]) -> Patient:
    parameters = record["parameters"]
    return Patient(
        name=record["name"],
        age=record["age"],
        total_daily_insulin=record["total_daily_insulin"],
        tuned_carb_factor=record["tuned_carb_factor"],
        tuned_correction_factor=record["tuned_correction_factor"],
        basal=parameters["u2ss"] * parameters["BW"] / UNITS_TO_PMOL,
        physiology=Physiology(**{name: parameters[name] for name in Physiology._fields}),
        initial_state=tuple(record["initial_state"]),
    )


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
        """Return (horizon,) grams that begin at each minute."""
        amounts = np.zeros(self.horizon)
        amounts[list(self.minutes)] = self.grams
        return amounts


@dataclass(frozen=True)
class Diet:
    """Low- and high-carb days in any order, with meals sized for the patient.

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
