"""Sensor errors for many lanes, drawn inside compiled code.

A lane's errors depend on its 64-bit seed alone: draw number k is a hash of (seed, k), so neither
the other lanes of a batch nor their order can change it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray
from surefoot.paper.glucose.sensor import KNOTS_A_BLOCK, Sensor, spline_weights
from surefoot.system.compiled import kernel

Words = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX, SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TO_UNIT = 2.0**-53


@kernel
def mixed(word: np.uint64) -> np.uint64:
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
        counter = mixed(words[lane])  # seeds such as 0, 1, 2 must not give neighbouring counters
        for k in range(0, count, 2):
            counter += GOLDEN
            radius = math.sqrt(
                -2.0 * math.log((np.float64(mixed(counter) >> np.uint64(11)) + 0.5) * TO_UNIT)
            )
            counter += GOLDEN
            angle = 2.0 * math.pi * np.float64(mixed(counter) >> np.uint64(11)) * TO_UNIT
            normals[lane, k] = radius * math.cos(angle)
            if k + 1 < count:
                normals[lane, k + 1] = radius * math.sin(angle)


@kernel
def errors_from_normals(
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
    """The wanted errors (mg/dL) of every lane, (n_lanes, n_wanted); the normals are overwritten."""
    errors = np.empty((len(normals), len(wanted)))
    weights = spline_weights(sensor.sample_minutes)
    errors_from_normals(normals, wanted, sensor, weights, sensor.samples_a_block, errors)
    return errors
