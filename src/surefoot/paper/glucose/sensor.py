"""Glucose sensors, and their errors for many lanes, drawn inside compiled code.

A lane's errors depend on its 64-bit seed alone: draw number k is a hash of (seed, k), so neither
the other lanes of a batch nor their order can change it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.paper.glucose.day import figures
from surefoot.system.compiled import kernel

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
    """Return the sensor of that name."""
    if isinstance(name, Sensor):
        return name
    sensors = all_sensors()
    if name not in sensors:
        raise InputError(f"there is no sensor {name!r}: choose among {', '.join(sensors)}")
    return sensors[name]


@cache
def _spline_weights(sample_minutes: int) -> Array:
    """Return the weights with which the knots of a block make its errors, (samples a block,
    KNOTS_A_BLOCK + 1).

    The spline is linear in its knots, so row k gives the error at minute (k + 1)·sample_minutes.
    """
    minutes = np.arange(1, BLOCK_MINUTES // sample_minutes + 1) * sample_minutes
    spline = CubicSpline(np.arange(KNOTS_A_BLOCK + 1), np.eye(KNOTS_A_BLOCK + 1))  # not-a-knot
    return np.asarray(spline(minutes / KNOT_MINUTES))


Words = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX, SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TO_UNIT = 2.0**-53


@kernel
def _mixed(word: np.uint64) -> np.uint64:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014): a bijection that scatters every bit."""
    word = (word ^ (word >> np.uint64(30))) * FIRST_MIX
    word = (word ^ (word >> np.uint64(27))) * SECOND_MIX
    return word ^ (word >> np.uint64(31))


@kernel
def fill_normals(words: Words, normals: Array) -> None:
    """Standard normals for every lane, (n_lanes, n_normals), by Box and Muller's transform in
    pairs.
    """
    count = normals.shape[1]
    for lane in range(words.size):
        counter = _mixed(words[lane])  # seeds such as 0, 1, 2 must not give neighbouring counters
        for k in range(0, count, 2):
            counter += GOLDEN
            radius = math.sqrt(
                -2.0 * math.log((np.float64(_mixed(counter) >> np.uint64(11)) + 0.5) * TO_UNIT)
            )
            counter += GOLDEN
            angle = 2.0 * math.pi * np.float64(_mixed(counter) >> np.uint64(11)) * TO_UNIT
            normals[lane, k] = radius * math.cos(angle)
            if k + 1 < count:
                normals[lane, k + 1] = radius * math.sin(angle)


@kernel
def _errors_from_normals(
    normals: Array,
    wanted: IntArray,
    sensor: Sensor,
    weights: Array,
    samples_a_block: int,
    errors: Array,
) -> None:
    """Turn normals into the wanted sensor errors.

    Args:
        normals: Standard normal draws, (n_lanes, n_normals); overwritten by the knots of the
            spline.
        wanted: Which errors, by their order of use.
        sensor: Whose figures to use.
        weights: `spline_weights` of the sensor.
        samples_a_block: Errors in a block of the spline.
        errors: Result in mg/dL, (n_lanes, n_wanted).
    """
    for lane in range(normals.shape[0]):
        knots = normals[lane]
        state = knots[0]
        for k in range(knots.size):
            if k > 0:
                state = sensor.correlation * (state + knots[k])
            knots[k] = sensor.xi + sensor.lambda_ * math.sinh((state - sensor.gamma) / sensor.delta)
        for place in range(wanted.size):
            block, row = wanted[place] // samples_a_block, wanted[place] % samples_a_block
            error = 0.0
            for k in range(KNOTS_A_BLOCK + 1):
                error += weights[row, k] * knots[block * KNOTS_A_BLOCK + k]
            errors[lane, place] = error


def sensor_errors(sensor: Sensor, normals: Array, wanted: IntArray) -> Array:
    """Return the wanted errors (mg/dL) of every lane, (n_lanes, n_wanted); the normals are
    overwritten.
    """
    errors = np.empty((len(normals), len(wanted)))
    weights = _spline_weights(sensor.sample_minutes)
    _errors_from_normals(normals, wanted, sensor, weights, sensor.samples_a_block, errors)
    return errors
