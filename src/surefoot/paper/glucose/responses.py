"""What many lanes share: the appearance of meals, and the body's response to basal insulin and to
one bolus.

Meals do not depend on insulin, so the rate at which they appear in plasma is solved once for a
patient and a scenario. Insulin kinetics are linear, so what a lane's boluses do is a sum of shifted
copies of one response. Both are tabulated every quarter of a minute: the points at which the lanes'
half-minute steps look.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from surefoot.arrays import Array, IntArray
from surefoot.paper.glucose.calculator import pump_rate
from surefoot.paper.glucose.meals import Scenario
from surefoot.paper.glucose.model import LAST_STOMACH, TAKEN, eat, emptying_rate
from surefoot.paper.glucose.patients import UNITS_TO_PMOL, Patient, Physiology
from surefoot.system.compiled import kernel

POINTS = 4  # a minute
FINE = 4  # steps from one point to the next while eating

INSULIN_STATES = (5, 6, 7, 8, 9, 10, 11)
PLASMA, USE, DELAY, MAKE, LIVER, FIRST_DEPOT, SECOND_DEPOT, ONE = range(8)


class Responses(NamedTuple):
    """Tables of one (patient, scenario, length of the sensor's window); times in quarter minutes.

    Attributes:
        appearance: Glucose from meals, mg/kg/min, (4·horizon + 1,).
        basal_use: State 6 under basal insulin alone, pmol/L.
        basal_make: State 8 under basal insulin alone, pmol/L.
        bolus_use: State 6 that 1 U/min during the first window adds.
        bolus_make: State 8 that 1 U/min during the first window adds.
        windows: The window during which each bolus runs, (n_boluses,).
        grams: What each bolus is for, g, (n_boluses,).
    """

    appearance: Array
    basal_use: Array
    basal_make: Array
    bolus_use: Array
    bolus_make: Array
    windows: IntArray
    grams: Array


@lru_cache(maxsize=64)  # a table of 5 days takes 1 MB
def responses(patient: Patient, scenario: Scenario, window: int) -> Responses:
    """The tables for a patient who eats this scenario, with actions that last `window` minutes."""
    appearance = np.empty(POINTS * scenario.horizon + 1)
    fill_appearance(
        np.array(patient.initial_state[:3]), scenario.announced(), patient.physiology, appearance
    )
    windows, grams = boluses(scenario, window)
    return Responses(
        appearance, *insulin_responses(patient, scenario.horizon, window), windows, grams
    )


def boluses(scenario: Scenario, window: int) -> tuple[IntArray, Array]:
    """When boluses run and for how many grams: the window after the one in which the meal was
    announced.
    """
    eaten = scenario.announced().reshape(-1, window).sum(axis=1)[:-1]
    meals = np.flatnonzero(eaten > 0)
    return meals + 1, eaten[meals]


@kernel
def fill_appearance(gut: Array, announced: Array, p: Physiology, appearance: Array) -> None:
    """Solve states 0 to 2 for the announced meals; the rate of appearance every quarter of a
    minute.
    """
    solid, liquid, intestine = gut[0], gut[1], gut[2]
    meal = np.zeros(4)
    meal[LAST_STOMACH] = solid + liquid
    scale = p.f * p.kabs / p.BW
    appearance[0] = scale * intestine
    for minute in range(announced.size):
        eaten = eat(announced[minute], solid + liquid, meal)
        meal_size = meal[LAST_STOMACH] + 1000 * meal[TAKEN]
        now = POINTS * minute
        if eaten > 0:
            for point in range(1, POINTS + 1):
                for _ in range(FINE):
                    now_in = (solid, liquid, intestine)
                    solid, liquid, intestine, _ = _gut_step(
                        now_in, 1000 * eaten, meal_size, p, 1.0 / (POINTS * FINE)
                    )
                appearance[now + point] = scale * intestine
        else:
            for point in range(2, POINTS + 1, 2):
                now_in = (solid, liquid, intestine)
                solid, liquid, intestine, middle = _gut_step(
                    now_in, 0.0, meal_size, p, 2.0 / POINTS
                )
                appearance[now + point - 1] = scale * middle
                appearance[now + point] = scale * intestine


@kernel
def _gut_slope(
    gut: tuple[float, float, float], eaten: float, meal_size: float, p: Physiology
) -> tuple[float, float, float]:
    solid, liquid, intestine = gut
    emptying = emptying_rate(solid + liquid, meal_size, p)
    return (
        eaten - p.kmax * solid,
        p.kmax * solid - emptying * liquid,
        emptying * liquid - p.kabs * intestine,
    )


@kernel
def _gut_step(
    gut: tuple[float, float, float], eaten: float, meal_size: float, p: Physiology, h: float
) -> tuple[float, float, float, float]:
    """One Runge-Kutta step; the fourth value is the intestine's content in the middle of the
    step.
    """
    a, b, c = gut
    a1, b1, c1 = _gut_slope(gut, eaten, meal_size, p)
    half = (a + h / 2 * a1, b + h / 2 * b1, c + h / 2 * c1)
    a2, b2, c2 = _gut_slope(half, eaten, meal_size, p)
    half = (a + h / 2 * a2, b + h / 2 * b2, c + h / 2 * c2)
    a3, b3, c3 = _gut_slope(half, eaten, meal_size, p)
    a4, b4, c4 = _gut_slope((a + h * a3, b + h * b3, c + h * c3), eaten, meal_size, p)
    return (
        a + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
        b + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        c + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4),
        c + h / 24 * (5 * c1 + 4 * c2 + 4 * c3 - c4),
    )


@lru_cache(maxsize=64)
def insulin_responses(
    patient: Patient, horizon: int, window: int
) -> tuple[Array, Array, Array, Array]:
    """What basal insulin does, and what a bolus of 1 U/min during the first window adds: two tables
    each.
    """
    p = patient.physiology
    rest, count = insulin_matrix(p, 0.0), POINTS * horizon
    start = np.array([patient.initial_state[state] for state in INSULIN_STATES] + [1.0])
    basal = insulin_matrix(p, pump_rate(patient.basal)) + insulin_offset(p)
    basal_use, basal_make = np.empty(count + 1), np.empty(count + 1)
    propagate(expm(basal / POINTS), start, 0, count, basal_use, basal_make)

    bolus_use, bolus_make = np.empty(count + 1), np.empty(count + 1)
    unit, on = np.eye(8)[ONE], min(POINTS * window, count)
    middle = propagate(expm(insulin_matrix(p, 1.0) / POINTS), unit, 0, on, bolus_use, bolus_make)
    propagate(expm(rest / POINTS), middle, on, count, bolus_use, bolus_make)
    return basal_use, basal_make, bolus_use, bolus_make


def insulin_matrix(p: Physiology, rate: float) -> Array:
    """States 5 to 11 as a linear system, driven by `rate` U/min; the eighth state is the constant
    1.
    """
    m = np.zeros((8, 8))
    m[PLASMA, [PLASMA, LIVER, FIRST_DEPOT, SECOND_DEPOT]] = -(p.m2 + p.m4), p.m1, p.ka1, p.ka2
    m[USE, [PLASMA, USE]] = p.p2u / p.Vi, -p.p2u
    m[DELAY, [PLASMA, DELAY]] = p.ki / p.Vi, -p.ki
    m[MAKE, [DELAY, MAKE]] = p.ki, -p.ki
    m[LIVER, [PLASMA, LIVER]] = p.m2, -(p.m1 + p.m30)
    m[FIRST_DEPOT, [FIRST_DEPOT, ONE]] = -(p.ka1 + p.kd), rate * UNITS_TO_PMOL / p.BW
    m[SECOND_DEPOT, [FIRST_DEPOT, SECOND_DEPOT]] = p.kd, -p.ka2
    return m


def insulin_offset(p: Physiology) -> Array:
    """Insulin acts on utilisation by its excess over the basal concentration: a constant drive of
    state 6.
    """
    m = np.zeros((8, 8))
    m[USE, ONE] = -p.p2u * p.Ib
    return m


@kernel
def propagate(step: Array, start: Array, first: int, last: int, use: Array, make: Array) -> Array:
    """Write states 6 and 8 at points first..last, starting from `start`; gives the last state."""
    now, after = start.copy(), np.empty(8)
    use[first], make[first] = now[USE], now[MAKE]
    for point in range(first + 1, last + 1):
        for row in range(8):
            total = 0.0
            for column in range(8):
                total += step[row, column] * now[column]
            after[row] = total
        now, after = after, now
        use[point], make[point] = now[USE], now[MAKE]
    return now
