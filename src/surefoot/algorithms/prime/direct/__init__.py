"""PRIME without a model: pulled pairs are compared directly, and a guide only chooses which."""

from __future__ import annotations

from dataclasses import replace

from surefoot.algorithms.prime.clocks import clock_boundary
from surefoot.algorithms.prime.direct.course import DirectCourse
from surefoot.algorithms.prime.direct.guessing import GuessCourse
from surefoot.algorithms.prime.tuning import Tuning
from surefoot.algorithms.settings import Settings
from surefoot.certify import Boundary
from surefoot.problem.problem import RobustProblem

__all__ = ["DirectCourse", "direct_course"]


def direct_course(
    problem: RobustProblem, settings: Settings, tuning: Tuning, boundary: Boundary | None
) -> DirectCourse:
    """Return the course that the settings ask for: by their noise, guide and objective."""
    if settings.common_random_numbers:  # differences are rightly quieter than their pairs
        tuning = replace(tuning, skew_chance=0.0)
    course = GuessCourse if settings.objective == "guess" else DirectCourse
    return course(problem, settings, tuning, boundary or clock_boundary(settings, tuning))
