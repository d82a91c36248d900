"""The UVA/Padova model of type 1 diabetes: 13 states, written to be read.

The model is the one of simglucose 0.2.11 (Dalla Man et al. 2007; Kovatchev et al. 2009), minute by
minute with constant inputs within the minute. The states, in order:

     0  food in the stomach, solid (mg)          7  insulin, first delay (pmol/L)
     1  food in the stomach, liquid (mg)         8  insulin, second delay: acts on production
     (pmol/L) 2  glucose in the intestine (mg)            9  insulin in the liver (pmol/kg) 3
     glucose in plasma (mg/kg)               10  insulin under the skin, first depot (pmol/kg) 4
     glucose in tissue (mg/kg)               11  insulin under the skin, second depot (pmol/kg) 5
     insulin in plasma (pmol/kg)             12  glucose under the skin (mg/kg): what "BG" means 6
     insulin action on utilisation (pmol/L)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.paper.glucose.meals import EATING_RATE
from surefoot.paper.glucose.patients import UNITS_TO_PMOL, Physiology
from surefoot.system.compiled import kernel

N_STATES = 13
PLANNED, EATEN_BEFORE, TAKEN, LAST_STOMACH = range(4)  # what the kernel remembers of the meal

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
        meal_size: What was in the stomach when eating began, and what was eaten since, mg.
        p: The patient's parameters.
    """
    if meal_size <= 0:
        return p.kmax
    fullness = stomach / meal_size
    filled = 1 / (1 + math.exp(5 * (p.b - fullness) / (1 - p.b)))
    emptied = 1 / (1 + math.exp(5 * (p.d - fullness) / p.d))
    return p.kmin + (p.kmax - p.kmin) * (1 + filled - emptied)


@kernel
def gated(amount: float, rate: float) -> float:
    """The rate of change of an amount that the reference freezes once it is negative."""
    return rate if amount >= 0 else 0.0


class Intake(NamedTuple):
    """What goes into the body during a minute.

    Attributes:
        eaten: Food, mg/min.
        insulin: Insulin infused, pmol/kg/min.
        meal_size: As in `emptying_rate`, mg.
    """

    eaten: float
    insulin: float
    meal_size: float


@kernel
def slope(x: Array, intake: Intake, p: Physiology, dx: Array) -> None:
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
    dx[3] = gated(x[3], production + appearance - p.Fsnc - excretion - exchange)
    dx[4] = gated(x[4], exchange - utilisation)
    dx[12] = gated(x[12], p.ksc * (x[3] - x[12]))

    plasma_insulin = x[5] / p.Vi
    dx[5] = gated(x[5], p.m1 * x[9] + p.ka1 * x[10] + p.ka2 * x[11] - (p.m2 + p.m4) * x[5])
    dx[6] = p.p2u * (plasma_insulin - p.Ib - x[6])
    dx[7] = p.ki * (plasma_insulin - x[7])
    dx[8] = p.ki * (x[7] - x[8])
    dx[9] = gated(x[9], p.m2 * x[5] - (p.m1 + p.m30) * x[9])
    dx[10] = gated(x[10], intake.insulin - (p.ka1 + p.kd) * x[10])
    dx[11] = gated(x[11], p.kd * x[10] - p.ka2 * x[11])


@kernel
def runge_kutta(x: Array, intake: Intake, p: Physiology, steps: int, work: Array) -> None:
    """Advance the state by one minute in classical fourth-order steps; `work` is (5, 13)."""
    h = 1.0 / steps
    trial = work[4]
    for _ in range(steps):
        slope(x, intake, p, work[0])
        for i in range(N_STATES):
            trial[i] = x[i] + h / 2 * work[0, i]
        slope(trial, intake, p, work[1])
        for i in range(N_STATES):
            trial[i] = x[i] + h / 2 * work[1, i]
        slope(trial, intake, p, work[2])
        for i in range(N_STATES):
            trial[i] = x[i] + h * work[2, i]
        slope(trial, intake, p, work[3])
        for i in range(N_STATES):
            x[i] += h / 6 * (work[0, i] + 2 * work[1, i] + 2 * work[2, i] + work[3, i])
        for i in GATED:
            if x[i] < 0:
                x[i] = FROZEN


@kernel
def eat(announced: float, stomach: float, meal: Array) -> float:
    """Grams eaten this minute; updates the memory of the meal, (4,).

    What is announced joins what is planned; no more than 5 g are eaten a minute. When eating
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


class Body(NamedTuple):
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
def advance_minute(body: Body, announced: float, insulin: float, p: Physiology) -> None:
    """One minute of life.

    Args:
        body: The patient; updated.
        announced: Carbohydrates of a meal that begins now, g.
        insulin: Infusion of the pump, U/min.
        p: The patient's parameters.
    """
    x, meal = body.state, body.meal
    eaten = eat(announced, x[0] + x[1], meal)
    meal_size = meal[LAST_STOMACH] + 1000 * meal[TAKEN]
    intake = Intake(1000 * eaten, insulin * UNITS_TO_PMOL / p.BW, meal_size)
    runge_kutta(x, intake, p, STEPS_EATING if eaten > 0 else STEPS, body.work)


def fresh_patient(initial_state: Sequence[float]) -> Body:
    """A patient at minute 0."""
    state = np.array(initial_state, dtype=np.float64)
    meal = np.zeros(4)
    meal[LAST_STOMACH] = state[0] + state[1]
    return Body(state, meal, np.empty((5, N_STATES)))
