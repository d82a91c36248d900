"""What comes out of a simulation: histories of every lane, or only their statistics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.metrics import Statistic, score
from surefoot.paper.glucose.sensor import Sensor


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics asked for, each an array of the lanes' shape.

    Attributes:
        values: Arrays by name. `min` and `max` in mg/dL; times as shares of the samples (0 to 1);
            `lbgi` and `hbgi` averaged over all samples; `magni_risk` the highest of the history.
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
    def reward(self) -> Array:
        """The lowest −risk of the history: the paper's reward of one simulation."""
        return -self["magni_risk"]


@dataclass(frozen=True, eq=False)
class Histories:
    """What happened in every lane; arrays are (*lanes, n_samples).

    Column 0 is minute 0. Column k > 0 describes the window that ends at `minutes[k]`: means over
    its minutes.

    Attributes:
        minutes: Minute of each sample, (n_samples,).
        bg: Blood glucose, mg/dL.
        cgm: What the sensor showed, mg/dL.
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
    """The record of the sensor: its reading is held through a window and renewed at the end.

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
