"""Any controller in the loop: a Python function decides on the insulin, the 13-state kernel does
the rest.

Slower than the calculators of `simulate`, which never leave compiled code, but free: whatever can
be written as a function of what has been seen can be tried on a virtual patient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.paper.glucose.batch import lane_seeds
from surefoot.paper.glucose.calculator import pump_rate
from surefoot.paper.glucose.draws import fill_normals, sensor_errors
from surefoot.paper.glucose.histories import Histories, shown
from surefoot.paper.glucose.meals import Diet, Scenario
from surefoot.paper.glucose.model import fresh_patient
from surefoot.paper.glucose.patients import Patient, find_patient
from surefoot.paper.glucose.sensor import Sensor, find_sensor
from surefoot.paper.glucose.states import advance_window


class Observation(NamedTuple):
    """What a controller sees when a window begins.

    Attributes:
        minute: Minutes since the start.
        window: Minutes that the action will last.
        cgm: What the sensor showed over the last window, mg/dL.
        bg: The true mean over the last window, mg/dL.
        meal: Carbohydrates announced during the last window, g.
        patient: Whom it is about.
    """

    minute: int
    window: int
    cgm: float
    bg: float
    meal: float
    patient: Patient


class Action(NamedTuple):
    """Insulin for the coming window, both in U/min; the pump rounds each and stops at 30."""

    basal: float
    bolus: float = 0.0


Controller = Callable[[Observation], Action]


def simulate_controller(
    patient: str | Patient,
    controller: Controller,
    scenario: Scenario | Diet,
    seed: int | np.random.SeedSequence,
    *,
    sensor: str | Sensor = "Dexcom",
    normals: ArrayLike | None = None,
) -> Histories:
    """Run one patient under a controller; histories of shape (n_samples,).

    Args:
        patient: Whose model to run.
        controller: Called once a window.
        scenario: Meals, with their horizon.
        seed: Root of the sensor noise: the same as lane 0 of `simulate` with this root.
        sensor: The sensor, whose period is the length of a window.
        normals: Standard normal draws behind the noise, in place of the seed's own.
    """
    person, monitor = find_patient(patient), find_sensor(sensor)
    meals = scenario.scenario(person) if isinstance(scenario, Diet) else scenario
    window, size = monitor.sample_minutes, monitor.samples(meals.horizon)
    if meals.horizon % window:
        raise InputError(
            f"the horizon of {meals.horizon} min is not a whole number of {window} min windows"
        )
    errors = _errors(monitor, meals.horizon, seed, normals)
    announced = meals.announced()
    grams = announced.reshape(-1, window).sum(axis=1)
    body = fresh_patient(person.initial_state)
    bg, instant, insulin = np.empty(size), np.empty(size), np.zeros(size)
    bg[0] = instant[0] = body.state[12] / person.physiology.Vg
    for step in range(size - 1):
        reading = _reading(monitor, instant, errors, step)
        eaten = grams[step - 1] if step else 0.0
        seen = Observation(step * window, window, reading, float(bg[step]), float(eaten), person)
        insulin[step + 1] = _delivered(controller(seen), seen.minute)
        soon = announced[step * window : (step + 1) * window]
        bg[step + 1] = advance_window(body, soon, insulin[step + 1], person.physiology)
        instant[step + 1] = body.state[12] / person.physiology.Vg
    carbohydrates = np.concatenate([[0.0], grams / window])
    return Histories(
        np.arange(size) * window, bg, shown(monitor, instant, errors), insulin, carbohydrates
    )


def _reading(sensor: Sensor, instant: Array, errors: Array, step: int) -> float:
    """What the controller sees; at minute 0 the second of two measurements, the first being for the
    record.
    """
    held = max(step - 1, 0)
    fresh = np.clip(
        instant[[held, step]] + errors[[held + 1, step + 1]], sensor.lowest, sensor.highest
    )
    return float(((sensor.sample_minutes - 1) * fresh[0] + fresh[1]) / sensor.sample_minutes)


def _delivered(action: Action, minute: int) -> float:
    if not (np.isfinite(action.basal) and np.isfinite(action.bolus)):
        raise InputError(
            f"at minute {minute} the controller asked for {action}: rates must be finite, in U/min"
        )
    return float(pump_rate(action.basal) + pump_rate(action.bolus))


def _errors(
    sensor: Sensor, horizon: int, seed: int | np.random.SeedSequence, given: ArrayLike | None
) -> Array:
    needed = sensor.normals_needed(horizon)
    normals = np.empty((1, needed))
    if given is None:
        fill_normals(lane_seeds(seed, 1), normals)
    else:
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or values.size < needed or not np.isfinite(values).all():
            raise InputError(
                f"normals has the shape {values.shape}: give at least {needed} finite "
                f"draws in one row"
            )
        normals[0] = values[:needed]
    return np.asarray(sensor_errors(sensor, normals, np.arange(sensor.samples(horizon) + 1))[0])
