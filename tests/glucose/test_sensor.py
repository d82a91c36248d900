"""Sensor noise against simglucose's own generator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import interp1d
from simglucose.sensor.cgm import CGMSensor
from simglucose.sensor.noise_gen import CGMNoise

from surefoot.errors import InputError
from surefoot.glucose import all_sensors, find_sensor
from surefoot.glucose.sensor import sensor_errors, spline_weights


@pytest.mark.parametrize("minutes", [1, 3, 5])
def test_the_spline_is_scipy_s_not_a_knot_cubic(minutes):
    knots = np.random.default_rng(minutes).normal(size=11)
    expected = interp1d(np.arange(11) * 15, knots, kind="cubic")(np.arange(1, 150 // minutes + 1) * minutes)
    np.testing.assert_allclose(spline_weights(minutes) @ knots, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["Dexcom", "GuardianRT", "Navigator"])
def test_errors_are_those_of_the_reference_for_the_same_draws(name):
    sensor, seed, count = find_sensor(name), 11, 400
    reference = CGMNoise(CGMSensor.withName(name)._params, seed=seed)
    expected = [next(reference) for _ in range(count)]
    normals = np.random.RandomState(seed).randn(1 + 10 * -(-count // sensor.samples_a_block))
    np.testing.assert_allclose(sensor_errors(sensor, normals, count), expected, atol=1e-10)


def test_enough_normals_and_no_block_too_many():
    for sensor in all_sensors().values():
        used = sensor.samples(1440) + 1
        blocks = (sensor.normals_needed(1440) - 1) // 10
        assert (blocks - 1) * sensor.samples_a_block < used <= blocks * sensor.samples_a_block


def test_an_unknown_sensor_lists_the_known():
    with pytest.raises(InputError, match="choose among Dexcom, GuardianRT, Navigator"):
        find_sensor("Dexcom G7")
