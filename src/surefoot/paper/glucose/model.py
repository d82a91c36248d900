"""The 13-state model of a patient, and the plain closed loop through it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.paper.glucose.day import (
    EATING_RATE,
    UNITS_TO_PMOL,
    Physiology,
    bolus_units,
    pump_rate,
)
from surefoot.system.compiled import kernel

N_STATES = 13
PLANNED, EATEN_BEFORE, TAKEN, LAST_STOMACH = range(4)  # the kernel's memory of the meal

# Eating fills the stomach within seconds on the scale of its emptying curve: short steps then.
STEPS_EATING, STEPS = 16, 2

GATED = (3, 4, 5, 9, 10, 11, 12)
# the reference freezes a gated state once it is negative; its solver stops just below 0
FROZEN = -1e-12


@kernel
def emptying_rate(stomach: float, meal_size: float, p: Physiology) -> float:
    """Rate (1/min) at which the stomach empties: slowest when it is half empty.

    The literature writes it with tanh; the logistic function is the same curve, and cheaper.

    Args:
        stomach: Food in the stomach now, mg.
        meal_size: Content of the stomach when eating began, and food eaten since, mg.
        p: The patient's parameters.
    """
    if meal_size <= 0:
        return p.kmax
    fullness = stomach / meal_size
    filled = 1 / (1 + math.exp(5 * (p.b - fullness) / (1 - p.b)))
    emptied = 1 / (1 + math.exp(5 * (p.d - fullness) / p.d))
    return p.kmin + (p.kmax - p.kmin) * (1 + filled - emptied)


@kernel
def _gated(amount: float, rate: float) -> float:
    """Return the rate of change of an amount that the reference freezes once it is negative."""
    return rate if amount >= 0 else 0.0


class _Intake(NamedTuple):
    """The intake of the body during a minute.

    Attributes:
        eaten: Food, mg/min.
        insulin: Insulin infused, pmol/kg/min.
        meal_size: As in `emptying_rate`, mg.
    """

    eaten: float
    insulin: float
    meal_size: float


@kernel
def _slope(x: Array, intake: _Intake, p: Physiology, dx: Array) -> None:
    """Write the time derivative of the state `x`, (13,), into `dx`, (13,)."""
    emptying = emptying_rate(x[0] + x[1], intake.meal_size, p)
    dx[0] = intake.eaten - p.kmax * x[0]
    dx[1] = p.kmax * x[0] - emptying * x[1]
    dx[2] = emptying * x[1] - p.kabs * x[2]

    appearance = p.f * p.kabs * x[2] / p.BW
    production = max(p.kp1 - p.kp2 * x[3] - p.kp3 * x[8], 0.0)
    excretion = p.ke1 * max(x[3] - p.ke2, 0.0)
    utilisation = (p.Vm0 + p.Vmx * x[6]) * x[4] / (p.Km0 + x[4])
    exchange = p.k1 * x[3] - p.k2 * x[4]
    dx[3] = _gated(x[3], production + appearance - p.Fsnc - excretion - exchange)
    dx[4] = _gated(x[4], exchange - utilisation)
    dx[12] = _gated(x[12], p.ksc * (x[3] - x[12]))

    plasma_insulin = x[5] / p.Vi
    dx[5] = _gated(x[5], p.m1 * x[9] + p.ka1 * x[10] + p.ka2 * x[11] - (p.m2 + p.m4) * x[5])
    dx[6] = p.p2u * (plasma_insulin - p.Ib - x[6])
    dx[7] = p.ki * (plasma_insulin - x[7])
    dx[8] = p.ki * (x[7] - x[8])
    dx[9] = _gated(x[9], p.m2 * x[5] - (p.m1 + p.m30) * x[9])
    dx[10] = _gated(x[10], intake.insulin - (p.ka1 + p.kd) * x[10])
    dx[11] = _gated(x[11], p.kd * x[10] - p.ka2 * x[11])


@kernel
def _runge_kutta(x: Array, intake: _Intake, p: Physiology, steps: int, work: Array) -> None:
    """Advance the state by one minute in classical fourth-order steps; `work` is (5, 13)."""
    h = 1.0 / steps
    trial = work[4]
    for _ in range(steps):
        _slope(x, intake, p, work[0])
        for i in range(N_STATES):
            trial[i] = x[i] + h / 2 * work[0, i]
        _slope(trial, intake, p, work[1])
        for i in range(N_STATES):
            trial[i] = x[i] + h / 2 * work[1, i]
        _slope(trial, intake, p, work[2])
        for i in range(N_STATES):
            trial[i] = x[i] + h * work[2, i]
        _slope(trial, intake, p, work[3])
        for i in range(N_STATES):
            x[i] += h / 6 * (work[0, i] + 2 * work[1, i] + 2 * work[2, i] + work[3, i])
        for i in GATED:
            if x[i] < 0:
                x[i] = FROZEN


@kernel
def eat(announced: float, stomach: float, meal: Array) -> float:
    """Grams eaten this minute; updates the memory of the meal, (4,).

    Announced food joins planned food; at most 5 g are eaten a minute. When eating
    begins, the stomach's content becomes the base of the new meal.
    """
    meal[PLANNED] += announced
    eaten = min(EATING_RATE, meal[PLANNED])
    meal[PLANNED] -= eaten
    if eaten > 0 and meal[EATEN_BEFORE] <= 0:
        meal[LAST_STOMACH] = stomach
        meal[TAKEN] = 0.0
    meal[TAKEN] += eaten
    meal[EATEN_BEFORE] = eaten
    return float(eaten)


class _Body(NamedTuple):
    """A patient at one moment.

    Attributes:
        state: The 13 states, (13,).
        meal: Memory of the meal, (4,).
        work: Scratch, (5, 13).
    """

    state: Array
    meal: Array
    work: Array


@kernel
def _advance_minute(body: _Body, announced: float, insulin: float, p: Physiology) -> None:
    """Advance a body by one minute.

    Args:
        body: The patient; updated.
        announced: Carbohydrates of a meal that begins now, g.
        insulin: Infusion of the pump, U/min.
        p: The patient's parameters.
    """
    x, meal = body.state, body.meal
    eaten = eat(announced, x[0] + x[1], meal)
    meal_size = meal[LAST_STOMACH] + 1000 * meal[TAKEN]
    intake = _Intake(1000 * eaten, insulin * UNITS_TO_PMOL / p.BW, meal_size)
    _runge_kutta(x, intake, p, STEPS_EATING if eaten > 0 else STEPS, body.work)


def fresh_patient(initial_state: Sequence[float]) -> _Body:
    """Return a patient at minute 0."""
    state = np.array(initial_state, dtype=np.float64)
    meal = np.zeros(4)
    meal[LAST_STOMACH] = state[0] + state[1]
    return _Body(state, meal, np.empty((5, N_STATES)))


class ClosedLoop(NamedTuple):
    """Lanes of one patient and one scenario: the inputs of a kernel and, in the last three arrays,
    its results.

    Attributes:
        settings: Carb factor, correction factor, target and threshold of each lane, (n_lanes, 4).
        errors: Sensor errors at the two ends of each meal's window, (n_lanes, n_boluses, 2), or (…,
            0) for a calculator that sees the truth.
        limits: Lowest and highest value the sensor shows, (2,).
        window: Minutes between samples.
        bg: The initial BG, then the mean of each window, mg/dL, (n_lanes, n_samples).
        instant: BG at each sample's minute, mg/dL, (n_lanes, n_samples).
        rates: Rate of each bolus, U/min, (n_lanes, n_boluses).
    """

    settings: Array
    errors: Array
    limits: Array
    window: int
    bg: Array
    instant: Array
    rates: Array


class SeenGlucose(NamedTuple):
    """BG during the window of a meal, mg/dL.

    Attributes:
        before: When it began.
        now: At its end.
        mean: Over its minutes, for a calculator without a sensor.
    """

    before: float
    now: float
    mean: float


@kernel
def bolus_rate(loop: ClosedLoop, lane: int, bolus: int, grams: float, seen: SeenGlucose) -> float:
    """Return the pump's rate (U/min) for one lane's bolus.

    Args:
        loop: All lanes.
        lane: Which of them.
        bolus: Which of its boluses.
        grams: The meal.
        seen: BG in the window of the meal.
    """
    errors, limits, setting, window = (
        loop.errors[lane, bolus],
        loop.limits,
        loop.settings[lane],
        loop.window,
    )
    reading = seen.mean
    if errors.size > 0:
        held = min(max(seen.before + errors[0], limits[0]), limits[1])
        fresh = min(max(seen.now + errors[1], limits[0]), limits[1])
        reading = ((window - 1) * held + fresh) / window
    units = bolus_units(grams, reading, setting[0], setting[1], setting[2], setting[3])
    return float(pump_rate(units / window))


class Meals(NamedTuple):
    """The meals of one patient.

    Attributes:
        announced: Grams that begin at each minute, (horizon,).
        windows: The window during which each bolus runs, (n_boluses,).
        grams: What each bolus is for, (n_boluses,).
    """

    announced: Array
    windows: IntArray
    grams: Array


@kernel
def advance_window(body: _Body, announced: Array, insulin: float, p: Physiology) -> float:
    """Advance by a window of minutes under one action; gives the mean BG over its minutes, mg/dL.

    Args:
        body: The patient; updated.
        announced: Grams that begin at each minute of the window.
        insulin: Infusion of the pump, U/min.
        p: The patient's parameters.
    """
    mean = 0.0
    for grams in announced:
        _advance_minute(body, grams, insulin, p)
        mean += body.state[12] / p.Vg / announced.size
    return mean


@kernel
def run_states(p: Physiology, initial: Array, basal: float, meals: Meals, loop: ClosedLoop) -> None:
    """Simulate every lane of one patient and scenario.

    Args:
        p: The patient's parameters.
        initial: The 13 states at minute 0.
        basal: Basal infusion, U/min.
        meals: The meals, and the boluses for them.
        loop: The lanes; their results are written.
    """
    bg, instant, window = loop.bg, loop.instant, loop.window
    work, meal, basal = np.empty((5, N_STATES)), np.empty(4), pump_rate(basal)
    windows, grams = meals.windows, meals.grams
    for lane in range(bg.shape[0]):
        x = initial.copy()
        body = _Body(x, meal, work)
        meal[:] = 0.0
        meal[LAST_STOMACH] = x[0] + x[1]
        before = now = mean = x[12] / p.Vg
        bg[lane, 0] = instant[lane, 0] = now
        bolus = 0
        for step in range(bg.shape[1] - 1):
            insulin = basal
            if bolus < windows.size and windows[bolus] == step:
                seen = SeenGlucose(before, now, mean)
                loop.rates[lane, bolus] = bolus_rate(loop, lane, bolus, grams[bolus], seen)
                insulin += loop.rates[lane, bolus]
                bolus += 1
            before = now
            announced = meals.announced[step * window : (step + 1) * window]
            mean = advance_window(body, announced, insulin, p)
            now = x[12] / p.Vg
            bg[lane, step + 1], instant[lane, step + 1] = mean, now
