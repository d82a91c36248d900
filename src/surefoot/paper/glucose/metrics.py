"""The worth of a glucose history: extremes, time in range, risk indices and the Magni risk.

A collapsed history (BG at or below 0) is scored as BG = 1 mg/dL: risks are then as bad as they get,
and never NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.sensor import Sensor
from surefoot.system.compiled import kernel

LOW, HIGH = 70.0, 180.0  # mg/dL: the consensus target range, both ends included
LOWEST_SCORED = 1.0  # mg/dL

# Kovatchev et al. (1997), as in simglucose.
SYMMETRY_SCALE, SYMMETRY_POWER, SYMMETRY_SHIFT = 1.509, 1.084, 5.381
# Magni et al. (2007), as in the paper.
MAGNI_SCALE, MAGNI_POWER, MAGNI_SHIFT = 3.35506, 0.8353, 3.7932

Statistic = Literal[
    "min",
    "max",
    "time_below",
    "time_in_range",
    "time_above",
    "lbgi",
    "hbgi",
    "magni_risk",
    "lbgi_of_lows",
    "hbgi_of_highs",
]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
MIN, MAX, BELOW, WITHIN, ABOVE, LBGI, HBGI, MAGNI, LBGI_OF_LOWS, HBGI_OF_HIGHS = range(10)


@kernel
def _magni(bg: float) -> float:
    shape = math.log(max(bg, LOWEST_SCORED)) ** MAGNI_POWER - MAGNI_SHIFT
    return float(10.0 * (MAGNI_SCALE * shape) ** 2)


@kernel
def _fill_magni(bg: Array, risks: Array) -> None:
    for i in range(bg.size):
        risks[i] = _magni(bg[i])


@kernel
def _symmetric(bg: float) -> float:
    """Glucose on a scale on which low and high are alike: negative below 112.5 mg/dL."""
    return float(
        SYMMETRY_SCALE * (math.log(max(bg, LOWEST_SCORED)) ** SYMMETRY_POWER - SYMMETRY_SHIFT)
    )


def magni_risk(bg: ArrayLike) -> Array:
    """Return 10·(c₀·(ln(BG)^c₁ − c₂))², elementwise: smallest near 138 mg/dL.

    As the paper prints it, c₂ stands outside the bracket with c₀; that form would be smallest near
    3 mg/dL and reward hypoglycaemia.
    """
    samples = np.asarray(bg, dtype=np.float64)
    risks = np.empty(samples.shape)
    _fill_magni(np.ascontiguousarray(samples).ravel(), risks.ravel())
    return risks


@kernel
def fill_statistics(bg: Array, with_indices: bool, table: Array) -> None:
    """Score every history.

    Args:
        bg: Samples in mg/dL, (n_lanes, n_samples).
        with_indices: Whether risk indices are wanted; they cost more than the simulation.
        table: Result: one row per lane, columns in the order of `STATISTICS`. The Magni risk is the
            highest of the history; the function is quasi-convex, so it is found at one of the
            extremes.
    """
    n_lanes, n_samples = bg.shape
    for lane in range(n_lanes):
        lowest, highest, below, above = bg[lane, 0], bg[lane, 0], 0, 0
        for value in bg[lane]:
            lowest, highest = min(lowest, value), max(highest, value)
            below += value < LOW
            above += value > HIGH
        table[lane, MIN], table[lane, MAX] = lowest, highest
        table[lane, BELOW], table[lane, ABOVE] = below / n_samples, above / n_samples
        table[lane, WITHIN] = (n_samples - below - above) / n_samples
        table[lane, MAGNI] = max(_magni(lowest), _magni(highest))
        if with_indices:
            low, high, lows, highs = 0.0, 0.0, 0, 0
            for value in bg[lane]:
                score = _symmetric(value)
                if score < 0:
                    low += 10.0 * score * score
                    lows += 1
                else:
                    high += 10.0 * score * score
                    highs += score > 0
            table[lane, LBGI], table[lane, HBGI] = low / n_samples, high / n_samples
            table[lane, LBGI_OF_LOWS] = low / max(lows, 1)
            table[lane, HBGI_OF_HIGHS] = high / max(highs, 1)


def score(bg: ArrayLike) -> dict[str, Array]:
    """Return every statistic of histories (..., n_samples) in mg/dL, by name; the last axis is
    gone.

    `min` and `max` are in mg/dL, the times are shares of the samples (0 to 1), the indices are
    means over all samples, or over low and high samples alone, and `magni_risk` is the highest of
    the history.
    """
    samples = np.ascontiguousarray(bg, dtype=np.float64)
    if samples.size == 0 or not np.isfinite(samples).all():
        raise InputError(
            f"the histories, of shape {samples.shape}, are empty or not finite: give BG in mg/dL"
        )
    table = np.empty((int(np.prod(samples.shape[:-1])), len(STATISTICS)))
    fill_statistics(samples.reshape(-1, samples.shape[-1]), True, table)
    return {
        name: table[:, column].reshape(samples.shape[:-1]) for column, name in enumerate(STATISTICS)
    }


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics asked for, each an array of the lanes' shape.

    Attributes:
        values: Arrays by name. `min` and `max` in mg/dL; times as shares of the samples (0 to 1);
            `lbgi` and `hbgi` averaged over all samples, as Kovatchev et al. have it and simglucose
            since October 2023; `lbgi_of_lows` and `hbgi_of_highs` over low and high samples alone,
            as in simglucose before; `magni_risk` the highest of the history.
    """

    values: dict[str, Array]

    def __getitem__(self, name: Statistic) -> Array:
        if name not in self.values:
            raise InputError(
                f"{name!r} was not asked for: add it to statistics, which was {tuple(self.values)}"
            )
        return self.values[name]

    @property
    def risk_index(self) -> Array:
        """LBGI + HBGI."""
        return self["lbgi"] + self["hbgi"]

    @property
    def risk_index_of_parts(self) -> Array:
        """The index of simglucose before October 2023: each part averaged over its own samples."""
        return self["lbgi_of_lows"] + self["hbgi_of_highs"]

    @property
    def reward(self) -> Array:
        """The lowest −risk of the history: the paper's reward of one simulation."""
        return -self["magni_risk"]


@dataclass(frozen=True, eq=False)
class Histories:
    """The course of every lane; arrays are (*lanes, n_samples).

    Column 0 is minute 0. Column k > 0 describes the window that ends at `minutes[k]`: means over
    its minutes.

    Attributes:
        minutes: Minute of each sample, (n_samples,).
        bg: Blood glucose, mg/dL.
        cgm: Readings of the sensor, mg/dL.
        insulin: Insulin infused, basal and bolus, U/min; 0 in column 0.
        carbohydrates: Meals announced, g/min; 0 in column 0.
    """

    minutes: IntArray
    bg: Array
    cgm: Array
    insulin: Array
    carbohydrates: Array

    @cached_property
    def statistics(self) -> Statistics:
        """Every statistic of every lane."""
        return Statistics(score(self.bg))


def shown(sensor: Sensor, instant: Array, errors: Array) -> Array:
    """Return the record of the sensor: its reading is held through a window and renewed at the end.

    Args:
        sensor: Its period and limits.
        instant: BG at each sample's minute, mg/dL, (..., n_samples).
        errors: Sensor errors in order of use, (..., n_samples + 1): the reference measures twice at
            minute 0.
    """
    window = sensor.sample_minutes
    fresh = np.clip(instant + errors[..., 1:], sensor.lowest, sensor.highest)
    record = np.empty_like(fresh)
    record[..., 0] = np.clip(instant[..., 0] + errors[..., 0], sensor.lowest, sensor.highest)
    record[..., 1:] = ((window - 1) * fresh[..., :-1] + fresh[..., 1:]) / window
    return record
