"""Continuous glucose monitors: how often they measure, and the error they add.

The error is an autoregressive normal sequence, one point every 15 minutes, bent through a Johnson
SU transform and joined by a cubic spline (not-a-knot) over blocks of 150 minutes: the model of
Breton and Kovatchev (2008), with the figures and the block structure of simglucose.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.paper.glucose.patients import figures

KNOT_MINUTES = 15
KNOTS_A_BLOCK = 10  # intervals; the last knot of a block is the first of the next
BLOCK_MINUTES = KNOT_MINUTES * KNOTS_A_BLOCK


class Sensor(NamedTuple):
    """The figures of one monitor. Glucose in mg/dL, time in minutes."""

    sample_minutes: int
    lowest: float
    highest: float
    correlation: float
    gamma: float
    lambda_: float
    delta: float
    xi: float

    @property
    def samples_a_block(self) -> int:
        """Errors that one block of the spline provides."""
        return BLOCK_MINUTES // self.sample_minutes

    def samples(self, horizon: int) -> int:
        """Samples over a horizon in minutes, the initial one included."""
        return horizon // self.sample_minutes + 1

    def normals_needed(self, horizon: int) -> int:
        """Standard normal draws behind one run of that many minutes.

        The reference draws twice at minute 0, once for the record and once for the controller, so a
        run uses one error more than it has samples.
        """
        blocks = -(-(self.samples(horizon) + 1) // self.samples_a_block)
        return 1 + KNOTS_A_BLOCK * blocks


@cache
def all_sensors() -> dict[str, Sensor]:
    """Dexcom (3 min), GuardianRT (5 min) and Navigator (1 min)."""
    return {
        record["Name"]: Sensor(
            sample_minutes=int(record["sample_time"]),
            lowest=record["min"],
            highest=record["max"],
            correlation=record["PACF"],
            gamma=record["gamma"],
            lambda_=record["lambda"],
            delta=record["delta"],
            xi=record["xi"],
        )
        for record in figures()["sensors"]
    }


def find_sensor(name: str | Sensor) -> Sensor:
    """The sensor of that name."""
    if isinstance(name, Sensor):
        return name
    sensors = all_sensors()
    if name not in sensors:
        raise InputError(f"there is no sensor {name!r}: choose among {', '.join(sensors)}")
    return sensors[name]


@cache
def spline_weights(sample_minutes: int) -> Array:
    """How the knots of a block make its errors, (samples a block, KNOTS_A_BLOCK + 1).

    The spline is linear in its knots, so row k gives the error at minute (k + 1)·sample_minutes.
    """
    minutes = np.arange(1, BLOCK_MINUTES // sample_minutes + 1) * sample_minutes
    spline = CubicSpline(np.arange(KNOTS_A_BLOCK + 1), np.eye(KNOTS_A_BLOCK + 1))  # not-a-knot
    return np.asarray(spline(minutes / KNOT_MINUTES))
