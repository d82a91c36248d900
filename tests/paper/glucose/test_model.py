"""The 13 states against the reference's own equations."""

from __future__ import annotations

import numpy as np
import pytest
from simglucose.patient.t1dpatient import Action, T1DPatient

from surefoot.paper.glucose import find_patient
from surefoot.paper.glucose.model import (
    LAST_STOMACH,
    PLANNED,
    TAKEN,
    _advance_minute,
    _Intake,
    _slope,
    eat,
    fresh_patient,
)


@pytest.mark.parametrize("name", ["adult#004", "adolescent#009", "child#005"])
def test_the_slope_is_the_reference_s(name):
    patient, reference = find_patient(name), T1DPatient.withName(name)
    rng = np.random.default_rng(5)
    scale = np.array(patient.initial_state) + np.array(
        [2e4, 2e4, 5e3, 50, 50, 1, 50, 1, 1, 1, 1, 1, 50]
    )
    for draw in range(40):
        x = scale * rng.normal(1.0, 1.0, 13)  # negative states, high states, empty stomachs
        eaten, insulin, last, taken = rng.uniform([0, 0, 0, 0], [5, 1, 3e4, 80]) * (draw % 4 > 0)
        ours = np.empty(13)
        intake = _Intake(1000 * eaten, insulin * 6000 / patient.weight, last + 1000 * taken)
        _slope(x, intake, patient.physiology, ours)
        theirs = T1DPatient.model(
            0, x, Action(CHO=eaten, insulin=insulin), reference._params, last, taken
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_meals_are_eaten_at_five_grams_a_minute_and_join_what_is_planned():
    meal = np.zeros(4)
    eaten = [eat(announced, 100.0, meal) for announced in (12.0, 0.0, 1.0, 0.0, 0.0)]
    assert eaten == [5.0, 5.0, 3.0, 0.0, 0.0]
    assert meal[PLANNED] == 0
    assert meal[TAKEN] == 13.0
    assert meal[LAST_STOMACH] == 100.0
    eat(2.0, 777.0, meal)
    assert (meal[LAST_STOMACH], meal[TAKEN]) == (777.0, 2.0)


def test_a_fasting_patient_on_basal_insulin_stays_level():
    patient = find_patient("adult#001")
    body = fresh_patient(patient.initial_state)
    for _ in range(600):
        _advance_minute(body, 0.0, patient.basal, patient.physiology)
    np.testing.assert_allclose(body.state, patient.initial_state, rtol=2e-3, atol=1e-2)


def test_glucose_collapses_to_zero_and_stays():
    patient = find_patient("adult#001")
    body = fresh_patient(patient.initial_state)
    for minute in range(1440):
        announced, insulin = 60.0 * (minute == 1200), 2.0 * (minute < 60)
        _advance_minute(body, announced, insulin, patient.physiology)
    state = body.state
    assert np.isfinite(state).all()
    assert state[3] < 0
    assert abs(state[3]) < 1e-9
    assert abs(state[12]) < 1e-3
