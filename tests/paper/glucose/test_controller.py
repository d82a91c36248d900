"""Arbitrary controllers through the 13 states."""

from __future__ import annotations

import numpy as np
import pytest
from simglucose.controller.base import Action as ReferenceAction
from simglucose.controller.base import Controller as ReferenceController

from surefoot.errors import InputError
from surefoot.paper.glucose import (
    Action,
    Calculator,
    Scenario,
    diet,
    find_patient,
    find_sensor,
    simulate,
    simulate_controller,
)
from tests.paper.glucose.reference import run


def proportional(glucose: float, basal: float) -> tuple[float, float]:
    """A controller that acts at every step, on the reading alone."""
    return basal * (1.5 if glucose > 160 else 0.5 if glucose < 110 else 1.0), max(
        glucose - 180, 0
    ) / 4000


class Proportional(ReferenceController):
    def __init__(self, basal: float):
        self.basal = basal

    def policy(self, observation, reward, done, **info):
        basal, bolus = proportional(observation.CGM, self.basal)
        return ReferenceAction(basal=basal, bolus=bolus)

    def reset(self):
        pass


@pytest.mark.parametrize("sensor", ["Dexcom", "GuardianRT"])
def test_any_controller_runs_as_in_the_reference(sensor):
    name, seed, scenario = "adolescent#003", 21, Scenario((30, 200), (45.0, 20.0), horizon=420)
    reference = run(name, scenario, Proportional(find_patient(name).basal), seed, sensor)
    normals = np.random.RandomState(seed).randn(find_sensor(sensor).normals_needed(420))
    ours = simulate_controller(
        name,
        lambda seen: Action(*proportional(seen.cgm, seen.patient.basal)),
        scenario,
        0,
        sensor=sensor,
        normals=normals,
    )
    np.testing.assert_allclose(ours.bg, reference.bg, atol=0.005)
    np.testing.assert_allclose(ours.cgm, reference.cgm, atol=0.005)
    np.testing.assert_allclose(ours.insulin[1:], reference.insulin, atol=1e-7)
    np.testing.assert_allclose(ours.carbohydrates[1:], reference.carbohydrates, atol=1e-12)


def test_the_calculator_as_a_controller_is_the_calculator():
    patient = find_patient("child#006")
    carb, correction = 500 / patient.total_daily_insulin, 1800 / patient.total_daily_insulin

    def calculator(seen):
        units = (
            seen.meal / carb + (seen.cgm > 150) * (seen.cgm - 140) / correction
            if seen.meal > 0
            else 0.0
        )
        return Action(seen.patient.basal, units / seen.window)

    ours = simulate_controller(patient, calculator, diet("high"), 5)
    built_in = simulate(patient, Calculator.baseline(patient), diet("high"), 5, kernel="states")
    np.testing.assert_allclose(ours.bg, built_in.bg[0], atol=1e-9)
    np.testing.assert_allclose(ours.cgm, built_in.cgm[0], atol=1e-9)
    np.testing.assert_allclose(ours.insulin, built_in.insulin[0], atol=1e-12)
    assert ours.statistics["min"] == pytest.approx(built_in.statistics["min"][0])


def test_what_a_controller_sees_first():
    seen = []
    simulate_controller(
        "adult#001",
        lambda now: seen.append(now) or Action(now.patient.basal),
        Scenario((1,), (6.0,), 12),
        0,
    )
    assert [now.minute for now in seen] == [0, 3, 6, 9]
    assert [now.meal for now in seen] == [0.0, 6.0, 0.0, 0.0]
    assert {now.window for now in seen} == {3}


def test_a_controller_that_asks_for_nonsense_is_told_when():
    with pytest.raises(InputError, match="at minute 6 the controller asked for"):
        simulate_controller(
            "adult#001", lambda now: Action(np.nan if now.minute == 6 else 0.01), Scenario(), 0
        )
    with pytest.raises(InputError, match="whole number of 3 min windows"):
        simulate_controller("adult#001", lambda now: Action(0.01), Scenario(horizon=100), 0)
    for normals in (np.zeros(3), np.full(101, np.nan)):
        with pytest.raises(InputError, match="at least 101 finite draws in one row"):
            simulate_controller(
                "adult#001", lambda now: Action(0.01), Scenario(), 0, normals=normals
            )
