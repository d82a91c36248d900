"""What both kernels share: the lanes' inputs and results, and the bolus that answers a meal."""

from __future__ import annotations

from typing import NamedTuple

from surefoot.arrays import Array
from surefoot.paper.glucose.calculator import bolus_units, pump_rate
from surefoot.system.compiled import kernel


class ClosedLoop(NamedTuple):
    """Lanes of one patient and one scenario: what a kernel reads and, in the last three arrays,
    what it writes.

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


class Seen(NamedTuple):
    """BG during the window of a meal, mg/dL.

    Attributes:
        before: When it began.
        now: At its end.
        mean: Over its minutes: what a calculator without a sensor sees.
    """

    before: float
    now: float
    mean: float


@kernel
def bolus_rate(loop: ClosedLoop, lane: int, bolus: int, grams: float, seen: Seen) -> float:
    """The pump's rate (U/min) for one lane's bolus.

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
