"""Noise drawn in compiled code: the right law, and a lane's stream from its seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.glucose import find_sensor
from surefoot.glucose.draws import errors_from_normals, fill_normals
from surefoot.glucose.sensor import sensor_errors, spline_weights


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
    assert abs(np.mean(normals[:, ::2][:, :50] ** 2 * normals[:, 1::2] ** 2) - 1) < 20 * bound  # within a pair


def test_a_lane_s_draws_depend_on_its_seed_alone():
    alone, together = draw([7], 97), draw([3, 9, 7, 2**64 - 1], 97)
    np.testing.assert_array_equal(alone[0], together[2])
    longer = draw([7], 200)
    np.testing.assert_array_equal(alone[0], longer[0, :97])
    assert len(np.unique(together)) == together.size


@pytest.mark.parametrize("name", ["Dexcom", "GuardianRT", "Navigator"])
def test_compiled_errors_equal_the_plain_ones(name):
    sensor, count = find_sensor(name), 300
    normals = np.random.default_rng(1).normal(size=(3, 1 + 10 * -(-count // sensor.samples_a_block)))
    expected = sensor_errors(sensor, normals, count)
    wanted = np.array([0, 17, 49, 50, 51, 299])
    errors = np.empty((3, len(wanted)))
    weights = spline_weights(sensor.sample_minutes)
    errors_from_normals(normals.copy(), wanted, sensor, weights, sensor.samples_a_block, errors)
    np.testing.assert_allclose(errors, expected[:, wanted], atol=1e-10)
