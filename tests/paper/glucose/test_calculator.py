"""The bolus calculator and the pump."""

from __future__ import annotations

import numpy as np
import pytest
from simglucose.actuator.pump import InsulinPump

from surefoot.errors import InputError
from surefoot.paper.glucose import Calculator, find_patient
from surefoot.paper.glucose.day import bolus_units, pump_rate


@pytest.mark.parametrize(
    ("reading", "units"), [(100.0, 5.0), (150.0, 5.0), (151.0, 5.0 + 11 / 40), (240.0, 7.5)]
)
def test_a_correction_joins_the_meal_only_above_the_threshold(reading, units):
    assert bolus_units(50.0, reading, 10.0, 40.0, 140.0, 150.0) == pytest.approx(units)


def test_the_baseline_is_the_rule_of_500_and_1800():
    daily = find_patient("child#003").total_daily_insulin
    calculator = Calculator.baseline("child#003")
    assert calculator.carb_factor == pytest.approx(500 / daily)
    assert calculator.correction_factor == pytest.approx(1800 / daily)
    names = np.array([["child#003"], ["adult#001"]])
    assert Calculator.baseline(names, scale=0.5).carb_factor.shape == (2, 1)
    assert Calculator.baseline(names, scale=0.5).carb_factor[0, 0] == pytest.approx(250 / daily)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"carb_factor": 0.0}, "carb_factor has the value 0.0: factors must be positive"),
        ({"correction_factor": [30.0, -2.0]}, "correction_factor has the value -2.0"),
        ({"carb_factor": [10.0, np.nan]}, "carb_factor has a value that is not finite"),
        ({"target": np.inf}, "target has a value that is not finite"),
        ({"threshold": np.nan}, "threshold has a value that is not finite"),
    ],
)
def test_impossible_factors_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Calculator(**{"carb_factor": 10.0, "correction_factor": 40.0, **fields})


def test_the_pump_does_what_the_reference_does():
    pump = InsulinPump.withName("Insulet")
    for wanted in [0.0, 1e-6, 0.0123456, 1.0 / 3, 7.77777, 29.999999, 30.0, 31.5, 400.0, -0.2]:
        assert pump_rate(wanted) == pytest.approx(pump.bolus(wanted), abs=1e-15)
        assert pump_rate(wanted) == pytest.approx(pump.basal(wanted), abs=1e-15)
