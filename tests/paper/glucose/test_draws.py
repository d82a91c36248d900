"""Noise drawn in compiled code: the right law, and a lane's stream from its seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from simglucose.sensor.cgm import CGMSensor
from simglucose.sensor.noise_gen import CGMNoise

from surefoot.paper.glucose import find_sensor
from surefoot.paper.glucose.sensor import fill_normals, sensor_errors


def draw(words, count):
    normals = np.empty((len(words), count))
    fill_normals(np.asarray(words, dtype=np.uint64), normals)
    return normals


def test_draws_are_standard_normal_and_uncorrelated_for_consecutive_seeds():
    normals = draw(np.arange(2000), 101)
    assert stats.kstest(normals.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(normals[:, 0], "norm").pvalue > 1e-3  # across seeds 0, 1, 2, ...
    bound = 5 / np.sqrt(normals.size)
    assert abs(np.mean(normals[:, :-1] * normals[:, 1:])) < bound  # along a lane
    assert abs(np.mean(normals[:-1] * normals[1:])) < bound  # between neighbouring lanes
    # within a pair
    assert abs(np.mean(normals[:, ::2][:, :50] ** 2 * normals[:, 1::2] ** 2) - 1) < 20 * bound


def test_a_lane_s_draws_depend_on_its_seed_alone():
    alone, together = draw([7], 97), draw([3, 9, 7, 2**64 - 1], 97)
    np.testing.assert_array_equal(alone[0], together[2])
    longer = draw([7], 200)
    np.testing.assert_array_equal(alone[0], longer[0, :97])
    assert len(np.unique(together)) == together.size


@pytest.mark.parametrize("name", ["Dexcom", "GuardianRT", "Navigator"])
def test_errors_are_those_of_the_reference_for_the_same_draws(name):
    sensor, count = find_sensor(name), 400
    wanted = np.array([0, 17, 29, 30, 31, 49, 50, 149, 150, 151, 399])
    lanes, expected = [], []
    for seed in (11, 12):
        lanes.append(
            np.random.RandomState(seed).randn(1 + 10 * -(-count // sensor.samples_a_block))
        )
        reference = CGMNoise(CGMSensor.withName(name)._params, seed=seed)
        expected.append(np.array([next(reference) for _ in range(count)]))
    np.testing.assert_allclose(
        sensor_errors(sensor, np.array(lanes), np.arange(count)), expected, atol=1e-10
    )
    few = sensor_errors(sensor, np.array(lanes), wanted)
    np.testing.assert_allclose(few, np.array(expected)[:, wanted], atol=1e-10)
