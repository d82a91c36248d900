"""PRIME without a model: pulled pairs are compared directly, and a guide only chooses which."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from surefoot.algorithms.prime.direct.clocks import Grid
from surefoot.algorithms.prime.direct.course import DirectCourse, Panel
from surefoot.algorithms.prime.direct.guessing import GuessCourse
from surefoot.algorithms.prime.direct.judges import (
    BettingJudge,
    Judge,
    NormalJudge,
    PooledJudge,
    StudentJudge,
)
from surefoot.algorithms.prime.schedule import hold_against_idleness
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.settings import Settings
from surefoot.boundaries import mixture
from surefoot.evidence.attained import (
    Attained,
    GaussianAttained,
    MixtureAttained,
    WealthAttained,
)
from surefoot.guides import guide_from
from surefoot.problem import RobustProblem

__all__ = ["DirectCourse", "direct_course"]

# beyond it, walks that stand still now and then cross this grid more often than was checked
LARGEST_DELTA = 0.5
JUDGES: dict[str, type[NormalJudge]] = {
    "scales": NormalJudge,
    "residual": PooledJudge,
    "batches": StudentJudge,
}


def direct_course(problem: RobustProblem, settings: Settings, tuning: Tuning) -> DirectCourse:
    """The course that the settings ask for: by their noise, guide and objective."""
    if settings.common_random_numbers:  # differences are rightly quieter than their pairs
        tuning = replace(tuning, skew_chance=0.0)
    judge, attained = _judge(problem, settings, tuning)
    guide = guide_from(settings.guide, problem)
    course = GuessCourse if settings.objective == "guess" else DirectCourse
    return course(problem, settings, tuning, Panel(guide, judge, attained))


def _judge(problem: RobustProblem, settings: Settings, tuning: Tuning) -> tuple[Judge, Attained]:
    noise, n_arms = settings.noise, problem.n_arms
    if noise.evidence == "wealth":
        span, tolerance = 2 * noise.scales(1)[0], settings.tolerance
        wealth = BettingJudge(span, n_arms, settings.delta, tolerance, tuning)
        return wealth, WealthAttained(n_arms, 1.0)
    steps = _steps(tuning.grid_growth, tuning.grid_points)
    # where scales are upper bounds, steps smaller than planned might cross a little more
    shape, level = _shape(tuning), min(settings.delta, LARGEST_DELTA)
    delta = tuning.grid_spent * level
    grid = Grid(np.cumsum(steps), noise.boundary(steps, delta, shape))
    if not noise.mixes:
        hold_against_idleness(steps, grid.boundary, level, "a smaller grid_rise")
    scales = noise.scales(problem.n_pairs)
    sizes, tolerance = np.diff(problem.offsets), settings.tolerance
    judge = JUDGES[noise.evidence](grid, sizes, scales, tolerance, tuning)
    if noise.mixes:
        mixed = mixture(steps, delta, shape)
        return judge, MixtureAttained(n_arms, 1.0, steps, mixed)
    return judge, GaussianAttained(n_arms, tuning.grid_spent, steps, shape, LARGEST_DELTA)


@lru_cache(maxsize=8)
def _steps(growth: float, points: int) -> tuple[float, ...]:
    """From point to point of a grid on which clocks may stop; the first is at 1."""
    return tuple(np.diff(growth ** np.arange(points), prepend=0.0).tolist())


def _shape(tuning: Tuning) -> tuple[float, ...]:
    """By how much c² exceeds its lowest at each point: it rises with the distance in log-time."""
    points = np.arange(tuning.grid_points)
    away = np.abs(points - tuning.grid_middle) * math.log(tuning.grid_growth)
    return tuple((tuning.grid_rise * away).tolist())
