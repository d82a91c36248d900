"""Runs through all 13 states: the closed loop with the bolus calculator, one lane at a time.

This is the plain kernel: no tables, no superposition, no blocks. `lanes` must agree with it.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.compiled import kernel
from surefoot.glucose.calculator import pump_rate
from surefoot.glucose.closed_loop import ClosedLoop, bolus_rate
from surefoot.glucose.model import LAST_STOMACH, N_STATES, advance_minute
from surefoot.glucose.patients import Physiology


@kernel
def advance_window(
    x: Array,
    meal: Array,
    announced: Array,
    first: int,
    window: int,
    insulin: float,
    p: Physiology,
    work: Array,
) -> float:
    """Advance by a window of minutes under one action; gives the mean BG over its minutes, mg/dL.

    Args:
        x: State, (13,); updated.
        meal: Memory of the meal, (4,); updated.
        announced: Grams that begin at each minute of the run.
        first: The window's first minute.
        window: Minutes in a window.
        insulin: Infusion of the pump, U/min.
        p: The patient's parameters.
        work: Scratch, (5, 13).
    """
    mean = 0.0
    for minute in range(first, first + window):
        advance_minute(x, meal, announced[minute], insulin, p, work)
        mean += x[12] / p.Vg / window
    return mean


@kernel
def run_states(
    p: Physiology,
    initial: Array,
    announced: Array,
    basal: float,
    windows: IntArray,
    grams: Array,
    loop: ClosedLoop,
) -> None:
    """Simulate every lane of one patient and scenario.

    Args:
        p: The patient's parameters.
        initial: The 13 states at minute 0.
        announced: Grams that begin at each minute, (horizon,).
        basal: Basal infusion, U/min.
        windows: The window during which each bolus runs, (n_boluses,).
        grams: What each bolus is for, (n_boluses,).
        loop: The lanes; their results are written.
    """
    bg, instant, window = loop.bg, loop.instant, loop.window
    work, meal, basal = np.empty((5, N_STATES)), np.empty(4), pump_rate(basal)
    for lane in range(bg.shape[0]):
        x = initial.copy()
        meal[:] = 0.0
        meal[LAST_STOMACH] = x[0] + x[1]
        before = now = mean = x[12] / p.Vg
        bg[lane, 0] = instant[lane, 0] = now
        bolus = 0
        for step in range(bg.shape[1] - 1):
            insulin = basal
            if bolus < windows.size and windows[bolus] == step:
                loop.rates[lane, bolus] = bolus_rate(
                    loop, lane, bolus, grams[bolus], before, now, mean
                )
                insulin += loop.rates[lane, bolus]
                bolus += 1
            before = now
            mean = advance_window(x, meal, announced, step * window, window, insulin, p, work)
            now = x[12] / p.Vg
            bg[lane, step + 1], instant[lane, step + 1] = mean, now
