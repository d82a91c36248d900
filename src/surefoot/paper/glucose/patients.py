"""Virtual patients: their parameters, from the shipped figures."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InputError

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
    """Patients, however they were named, as an array of the same shape."""
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
