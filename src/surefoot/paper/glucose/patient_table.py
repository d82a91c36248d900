"""The paper's table of patients, from the shipped figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.paper.glucose.calculator import Calculator
from surefoot.paper.glucose.patients import all_patients

if TYPE_CHECKING:
    import pandas as pd

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
