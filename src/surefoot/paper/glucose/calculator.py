"""The bolus calculator of the paper, and the pump that carries out what it says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.paper.glucose.patients import UNITS_TO_PMOL, Patients, patient_array
from surefoot.system.compiled import kernel

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
        """The rule of 500 and 1800 on each patient's total daily insulin, both factors times
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
    """The rate (U/min) that the pump delivers when asked for `wanted`."""
    rounded = np.rint(wanted * UNITS_TO_PMOL / PUMP_INCREMENT) * PUMP_INCREMENT / UNITS_TO_PMOL
    return float(max(min(rounded, PUMP_MAXIMUM), 0.0))


@kernel
def bolus_units(
    grams: float, reading: float, carb: float, correction: float, target: float, threshold: float
) -> float:
    """What the calculator proposes for a meal, U."""
    units = grams / carb
    if reading > threshold:
        units += (reading - target) / correction
    return units
