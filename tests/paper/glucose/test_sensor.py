"""The sensors, and the spline behind their errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import interp1d

from surefoot.errors import InputError
from surefoot.paper.glucose import all_sensors, find_sensor
from surefoot.paper.glucose.sensor import _spline_weights


@pytest.mark.parametrize("minutes", [1, 3, 5])
def test_the_spline_is_scipy_s_not_a_knot_cubic(minutes):
    knots = np.random.default_rng(minutes).normal(size=11)
    expected = interp1d(np.arange(11) * 15, knots, kind="cubic")(
        np.arange(1, 150 // minutes + 1) * minutes
    )
    np.testing.assert_allclose(_spline_weights(minutes) @ knots, expected, atol=1e-12)


def test_enough_normals_and_no_block_too_many():
    for sensor in all_sensors().values():
        used = sensor.samples(1440) + 1
        blocks = (sensor.normals_needed(1440) - 1) // 10
        assert (blocks - 1) * sensor.samples_a_block < used <= blocks * sensor.samples_a_block


def test_an_unknown_sensor_lists_the_known():
    with pytest.raises(InputError, match="choose among Dexcom, GuardianRT, Navigator"):
        find_sensor("Dexcom G7")
