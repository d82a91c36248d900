"""Runs through all 13 states: the closed loop with the bolus calculator, one lane at a time.

This is the plain kernel: no tables, no superposition, no blocks. `lanes` must agree with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.paper.glucose.calculator import pump_rate
from surefoot.paper.glucose.closed_loop import ClosedLoop, Seen, bolus_rate
from surefoot.paper.glucose.model import LAST_STOMACH, N_STATES, Body, advance_minute
from surefoot.paper.glucose.patients import Physiology
from surefoot.system.compiled import kernel


class Meals(NamedTuple):
    """What one patient eats.

    Attributes:
        announced: Grams that begin at each minute, (horizon,).
        windows: The window during which each bolus runs, (n_boluses,).
        grams: What each bolus is for, (n_boluses,).
    """

    announced: Array
    windows: IntArray
    grams: Array


@kernel
def advance_window(body: Body, announced: Array, insulin: float, p: Physiology) -> float:
    """Advance by a window of minutes under one action; gives the mean BG over its minutes, mg/dL.

    Args:
        body: The patient; updated.
        announced: Grams that begin at each minute of the window.
        insulin: Infusion of the pump, U/min.
        p: The patient's parameters.
    """
    mean = 0.0
    for grams in announced:
        advance_minute(body, grams, insulin, p)
        mean += body.state[12] / p.Vg / announced.size
    return mean


@kernel
def run_states(p: Physiology, initial: Array, basal: float, meals: Meals, loop: ClosedLoop) -> None:
    """Simulate every lane of one patient and scenario.

    Args:
        p: The patient's parameters.
        initial: The 13 states at minute 0.
        basal: Basal infusion, U/min.
        meals: What is eaten, and the boluses for it.
        loop: The lanes; their results are written.
    """
    bg, instant, window = loop.bg, loop.instant, loop.window
    work, meal, basal = np.empty((5, N_STATES)), np.empty(4), pump_rate(basal)
    windows, grams = meals.windows, meals.grams
    for lane in range(bg.shape[0]):
        x = initial.copy()
        body = Body(x, meal, work)
        meal[:] = 0.0
        meal[LAST_STOMACH] = x[0] + x[1]
        before = now = mean = x[12] / p.Vg
        bg[lane, 0] = instant[lane, 0] = now
        bolus = 0
        for step in range(bg.shape[1] - 1):
            insulin = basal
            if bolus < windows.size and windows[bolus] == step:
                seen = Seen(before, now, mean)
                loop.rates[lane, bolus] = bolus_rate(loop, lane, bolus, grams[bolus], seen)
                insulin += loop.rates[lane, bolus]
                bolus += 1
            before = now
            announced = meals.announced[step * window : (step + 1) * window]
            mean = advance_window(body, announced, insulin, p)
            now = x[12] / p.Vg
            bg[lane, step + 1], instant[lane, step + 1] = mean, now
