"""Clocks of arms: on the grid, never standing still, in proportion to what phases say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from surefoot.algorithms import Algorithm, Settings
from surefoot.algorithms.prime import Prime
from surefoot.algorithms.prime.direct.clocks import Clocks, Forecast, Grid
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.boundaries import gaussian_boundary, worst_crossing_probability
from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.problem import RobustProblem

GROWTH, POINTS, MIDDLE = Tuning().grid_growth, Tuning().grid_points, Tuning().grid_middle
STEPS = tuple(np.diff(GROWTH ** np.arange(POINTS), prepend=0.0).tolist())
AWAY = np.abs(np.arange(POINTS) - MIDDLE) * np.log(GROWTH)
SHAPE = tuple((Tuning().grid_rise * AWAY).tolist())
GRID = Grid(np.cumsum(STEPS), gaussian_boundary(STEPS, 0.05, SHAPE))
KNOWN = Gaussian(1.0)
BOTH = np.array([0, 1])


def saying(*information: float) -> Forecast:
    """A phase of which much is hoped: clocks that have not begun go to the middle."""
    return Forecast(np.array(information), np.full(len(information), 1e6))


def test_the_least_evidence_is_enough_in_the_middle() -> None:
    assert GRID.middle == MIDDLE
    assert (np.diff(GRID.boundary[: MIDDLE + 1]) < 0).all()
    assert (np.diff(GRID.boundary[MIDDLE:]) > 0).all()


@pytest.mark.parametrize("score", [0.3, 0.7, 1.5])
def test_a_clock_begins_where_phases_as_expected_end_it_in_the_middle(score: float) -> None:
    clocks = Clocks(GRID, 3)
    assert clocks.times.tolist() == [0, 0, 0]
    clocks.advance(BOTH, Forecast(np.array([5.0, 1e9]), np.full(2, score)))
    place = clocks.place[0]
    assert clocks.place.tolist() == [place, place, -1]
    evidence = score * np.sqrt(GRID.times[MIDDLE] / GRID.times[place])
    assert abs(np.log(evidence / GRID.boundary[MIDDLE])) <= np.log(GROWTH) / 4 + 1e-9


def test_a_clock_begins_on_the_grid_whatever_is_expected() -> None:
    for score, place in ((1e-9, 0), (1e9, MIDDLE)):
        clocks = Clocks(GRID, 1)
        clocks.advance(np.array([0]), Forecast(np.ones(1), np.full(1, score)))
        assert clocks.place.tolist() == [place]


def test_clocks_stop_on_the_grid_and_move_at_least_one_point() -> None:
    rng, clocks = np.random.default_rng(1), Clocks(GRID, 2)
    for _ in range(60):
        before, place = clocks.times, clocks.place.copy()
        information = saying(*rng.lognormal(0, 3, 2))
        steps = clocks.steps(BOTH, information)
        clocks.advance(BOTH, information)
        assert np.allclose(clocks.times, before + steps)
        assert np.isin(clocks.times, GRID.times).all()
        assert (clocks.place > place)[place < POINTS - 1].all()


def test_time_passes_in_proportion_to_information() -> None:
    """A phase that adds 30 % to what is known adds 30 % to the time, up to half a point."""
    clocks, known, half = Clocks(GRID, 1), 7.0, np.log(GROWTH) / 2
    clocks.advance(np.array([0]), saying(known))
    for share in (0.3, 1.0, 0.08, 2.5, 0.3):
        before = clocks.times[0]
        clocks.advance(np.array([0]), saying(share * known))
        known *= 1 + share
        assert abs(np.log(clocks.times[0] / before) - np.log1p(share)) <= half + 1e-9


def test_arms_that_are_not_tested_keep_their_time() -> None:
    clocks = Clocks(GRID, 2)
    clocks.advance(BOTH, saying(1.0, 1.0))
    began = clocks.times
    clocks.advance(np.array([1]), saying(1.0))
    assert clocks.times[0] == began[0]
    assert clocks.times[1] > began[1]


def test_a_clock_that_has_run_down_stands_still() -> None:
    clocks = Clocks(Grid(np.array([1.0, 2.0]), np.full(2, 2.0)), 1)
    only = np.array([0])
    for _ in range(4):
        clocks.advance(only, saying(1.0))
    assert clocks.run_down.all()
    assert clocks.steps(only, saying(1e6)) == 0


def test_a_walk_read_on_the_grid_crosses_as_often_as_planned_however_clocks_jump() -> None:
    """Steps of one to six points, chosen from the evidence itself: an adversary's clock."""
    rng, runs, points = np.random.default_rng(2), 3000, POINTS - 1
    place, walk, out = np.zeros(runs, dtype=int), rng.standard_normal(runs), np.zeros(runs, bool)
    while (place < points).any():
        out |= walk >= GRID.boundary[place] * np.sqrt(GRID.times[place])
        near = walk / np.sqrt(GRID.times[place]) > 1.0
        further = np.minimum(place + np.where(near, 1, rng.integers(1, 7, runs)), points)
        step = GRID.times[further] - GRID.times[place]
        walk, place = walk + np.sqrt(step) * rng.standard_normal(runs), further
    out |= walk >= GRID.boundary[place] * np.sqrt(GRID.times[place])
    assert stats.binom.sf(int(out.sum()) - 1, runs, 0.05) > 1e-3


@pytest.mark.parametrize("delta", [0.001, 0.05, 0.2])
def test_steps_smaller_than_planned_do_not_cross_more_often(delta: float) -> None:
    """Scales that are upper bounds, and pairs settled at the run's δ while p-values of smaller ones
    wait for them: the worst policy, by dynamic programming on the shipped grid.
    """
    boundary = gaussian_boundary(STEPS, delta, SHAPE)
    assert worst_crossing_probability(STEPS, boundary) <= delta * (1 + 1e-3)


def started(delta: float = 0.05, noise: Noise = KNOWN, **constants: float) -> Algorithm:
    problem = RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    settings = Settings(delta=delta, noise=noise, trust="pairs")
    return Prime(tuning=Tuning(**constants)).start(problem, settings)


@pytest.mark.parametrize("noise", [KNOWN, Gaussian(), Gaussian(equal=True)])
def test_a_grid_on_which_idle_walks_cross_too_often_is_refused(noise: Noise) -> None:
    started(noise=noise, grid_rise=2.0)
    with pytest.raises(InputError, match="choose a smaller grid_rise"):
        started(noise=noise, grid_rise=5.0)


@pytest.mark.parametrize("noise", [Gaussian(), Gaussian(equal=True)])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.1, 0.2, 0.3, 0.5, 0.9])
def test_the_grid_that_ships_is_never_refused(noise: Noise, delta: float) -> None:
    started(delta, noise)


def test_a_mixture_need_not_be_held_against_idle_walks() -> None:
    started(noise=SubGaussian(1.0), grid_rise=5.0)


def test_beyond_one_half_delta_is_spent_as_if_it_were_one_half() -> None:
    """What idle walks could do was not checked beyond it."""
    half, more = (started(delta).course.judge.grid.boundary for delta in (0.5, 0.9))
    assert half.tolist() == more.tolist()
