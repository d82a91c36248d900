"""The shared tables against the 13 states they replace."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.paper.glucose import Scenario, find_patient
from surefoot.paper.glucose.day import pump_rate
from surefoot.paper.glucose.lanes import POINTS, boluses, responses
from surefoot.paper.glucose.model import _advance_minute, fresh_patient
from tests.paper.glucose.cases import ODD_MEALS


@pytest.mark.parametrize("name", ["adult#006", "adolescent#008", "child#007"])
def test_meals_appear_as_in_the_full_model(name):
    patient = find_patient(name)
    p, tables, announced = (
        patient.physiology,
        responses(patient, ODD_MEALS, 3),
        ODD_MEALS.announced(),
    )
    body = fresh_patient(patient.initial_state)
    state = body.state
    expected = np.zeros(ODD_MEALS.horizon + 1)
    for minute in range(ODD_MEALS.horizon):
        _advance_minute(body, announced[minute], patient.basal, p)
        expected[minute + 1] = p.f * p.kabs * state[2] / p.BW
    np.testing.assert_allclose(tables.appearance[::POINTS], expected, atol=2e-4 * expected.max())


@pytest.mark.parametrize("window", [1, 3, 5])
def test_insulin_is_a_superposition(window):
    patient, scenario = find_patient("child#001"), Scenario(horizon=600)
    tables = responses(patient, scenario, window)
    basal, rates = pump_rate(patient.basal), {20: 0.7, 25: 0.1, 60: 1.3}
    body = fresh_patient(patient.initial_state)
    state = body.state
    for minute in range(600):
        bolus = rates.get(minute // window, 0.0)
        _advance_minute(body, 0.0, basal + bolus, patient.physiology)
        now = POINTS * (minute + 1)
        parts = [(rate, now - POINTS * window * start) for start, rate in rates.items()]
        use = tables.basal_use[now] + sum(
            rate * tables.bolus_use[since] for rate, since in parts if since >= 0
        )
        make = tables.basal_make[now] + sum(
            rate * tables.bolus_make[since] for rate, since in parts if since >= 0
        )
        assert use == pytest.approx(state[6], abs=1e-3)
        assert make == pytest.approx(state[8], abs=1e-3)


def test_a_bolus_follows_the_window_in_which_its_meal_was_announced():
    windows, grams = boluses(Scenario((0, 4, 5, 8, 59), (1.0, 2.0, 3.0, 0.0, 9.0), horizon=60), 3)
    assert windows.tolist() == [
        1,
        2,
    ]  # minutes 4 and 5 share one; 0 g needs none; the last comes too late
    assert grams.tolist() == [1.0, 5.0]
