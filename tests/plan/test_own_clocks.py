"""Own clocks: where they begin, and how they go on."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.certified import clock_boundary
from surefoot.arrays import Array
from surefoot.plan.clocks import OwnClocks
from surefoot.plan.contrasts import Compared, Race, directly
from surefoot.plan.view import View

SETTINGS = sf.Settings(delta=0.05, noise=sf.Gaussian(), misfit=math.inf)
MIDDLE = sf.Tuning().grid_middle


def begun(place: int = -1, start: int = -1) -> tuple[OwnClocks, sf.Past]:
    """One arm under test by another, its clock at some point of the grid."""
    problem = sf.RobustProblem.from_pairs(np.eye(2), [0, 1])
    run = sf.Prime().start(problem, SETTINGS)
    walks, promised = run.certifier.walks, np.array([-1, place])
    walks.places[1], walks.starts[1] = place, start
    seen: Any = SimpleNamespace(walks=walks, promised=promised)
    return OwnClocks(walks.boundary, 2, 0.0, sf.Tuning()), run.past._replace(certifier=seen)


def compared(gap: float, information: float = 1.0) -> Compared:
    """One pair against another, with a gap that is known well."""
    sure = View(np.array([gap, 0.0]), np.zeros((2, 0)), np.zeros(2), np.ones(2))
    race = Race(0, np.array([0]), np.array([1]), np.zeros((1, 1)))
    return directly(sure, race, np.array([1]), np.full(2, 0.5 / information))


@pytest.mark.parametrize("score", [0.2, 1.0, 2.0])
def test_a_clock_begins_where_phases_as_expected_end_it_in_the_middle(score: float) -> None:
    own, past = begun()
    (first,) = own.steps(past, compared(score))
    times, boundary = own.boundary.times, own.boundary
    height = boundary.levels(np.array([first]), np.array([MIDDLE]))[0] / math.sqrt(times[MIDDLE])
    assert times[MIDDLE] / times[first] == pytest.approx((height / score) ** 2, rel=0.07)


def test_clocks_that_begin_later_need_less_evidence() -> None:
    starts = np.arange(MIDDLE + 1)
    heights = clock_boundary(SETTINGS).levels(starts, np.full_like(starts, MIDDLE))
    assert (np.diff(heights) <= 0).all()
    assert heights[-1] < 0.92 * heights[0]


@pytest.mark.parametrize("start", [0, 40])
def test_what_is_lacking_is_the_boundary_less_what_is_held(start: int) -> None:
    own, past = begun(MIDDLE - 1, start)
    own.count(compared(1.0), 6.0)
    ahead = own.ahead(past, compared(1.0, information=1e-9))  # one step of the grid
    held: Array = np.array([3.0])
    lacking = ahead.lacking(np.array([1.0, 1.5]), np.array([0]), held)
    times, starts = own.boundary.times, np.array([start])
    step = times[MIDDLE] - times[MIDDLE - 1]
    level = own.boundary.levels(starts, np.array([MIDDLE]))[0]
    assert lacking.evidence[0, 0] == pytest.approx((level - 3.0) / math.sqrt(step))
    assert not lacking.wealth.any()
    higher = own.boundary.levels(starts, np.array([MIDDLE + 1]))[0]
    between = lacking.evidence[1, 0] * math.sqrt(1.5 * step) + 3.0
    assert level < between < higher


def test_a_clock_goes_on_in_proportion_to_what_was_expected() -> None:
    own, past = begun(20, 20)
    own.count(compared(1e3, information=4.0), 6.0)
    (doubled,) = own.steps(past, compared(1e3, information=4.0))
    assert own.boundary.times[doubled] / own.boundary.times[20] == pytest.approx(2.0, rel=0.06)
    assert own.steps(past, compared(1e3, information=1e-9)).tolist() == [21]
    own, past = begun(len(own.boundary.times) - 2, 20)
    own.count(compared(1e3, information=4.0), 6.0)
    assert own.steps(past, compared(1e3, information=1e9))[0] == len(own.boundary.times) - 1


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.05, 0.2, 0.5, 0.9])
def test_steps_smaller_than_planned_do_not_cross_more_often(delta: float) -> None:
    settings = sf.Settings(delta=delta, noise=sf.Gaussian(), misfit=math.inf)
    clock_boundary(settings).check(delta)
