"""Own clocks: where they begin, and how they go on."""

from __future__ import annotations

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.prime.clocks import clock_boundary
from surefoot.algorithms.prime.direct.clocks import Clocks, Forecast

SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf)
ONE, UNTESTED = np.array([0]), np.array([-1])


def clocks() -> Clocks:
    return Clocks(clock_boundary(SETTINGS), 1)


@pytest.mark.parametrize("score", [0.2, 1.0, 2.0])
def test_a_clock_begins_where_phases_as_expected_end_it_in_the_middle(score: float) -> None:
    own, middle = clocks(), sf.Tuning().grid_middle
    first = own.next(ONE, UNTESTED, Forecast(np.ones(1), np.array([score])))
    phases = (own.heights(first, np.array([middle])) / score) ** 2
    assert own.times[middle] / own.times[first] == pytest.approx(phases, rel=0.07)


def test_clocks_that_begin_later_need_less_evidence() -> None:
    own, middle = clocks(), sf.Tuning().grid_middle
    starts = np.arange(middle + 1)
    heights = own.heights(starts, np.full_like(starts, middle))
    assert (np.diff(heights) <= 0).all()
    assert heights[-1] < 0.92 * heights[0]


def test_levels_between_points_lie_between_those_of_the_points() -> None:
    own, starts = clocks(), np.array([0, 40])
    at = own.level(starts, own.times[[[44, 44], [45, 45]]])
    assert at[0] == pytest.approx(own.boundary.levels(starts, np.array([44, 44])))
    between = own.level(starts, np.full((1, 2), (own.times[44] + own.times[45]) / 2))
    assert ((at[0] < between) & (between < at[1])).all()


def test_a_clock_goes_on_in_proportion_to_what_was_expected() -> None:
    own = clocks()
    own.count(ONE, Forecast(np.array([4.0]), np.ones(1)))
    doubled = own.next(ONE, np.array([20]), Forecast(np.array([4.0]), np.ones(1)))[0]
    assert own.times[doubled] / own.times[20] == pytest.approx(2.0, rel=0.06)
    slightly = own.next(ONE, np.array([20]), Forecast(np.array([1e-9]), np.ones(1)))[0]
    assert slightly == 21
    last = len(own.times) - 1
    assert own.next(ONE, np.array([last - 1]), Forecast(np.array([1e9]), np.ones(1)))[0] == last


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.05, 0.2, 0.5, 0.9])
def test_steps_smaller_than_planned_do_not_cross_more_often(delta: float) -> None:
    settings = sf.Settings(delta=delta, noise=sf.Gaussian(), misfit=math.inf)
    clock_boundary(settings).check(delta)
