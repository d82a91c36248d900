"""A parabola whose two best arms tie exactly, with deviations that mislead a fit the most."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.arrays import Array

MISFIT = 0.02
RIVALS = (2, 3)  # the arms that tie


def parabola() -> tuple[sf.RobustProblem, Array]:
    """Seven arms of two perturbations, and their means: exactly quadratic, arm 2 best by 0.04."""
    arms, errors = np.linspace(0.2, 1.4, 7)[:, None], [[[-0.1], [0.1]]] * 7
    problem = sf.RobustProblem.paper(arms, errors, features="quadratic")
    x = problem.parameters[:, 0]
    return problem, 2.0 * x - 1.5 * x**2


def worst_corner() -> tuple[sf.RobustProblem, Array]:
    """The same with every mean moved by ±0.02: arms 2 and 3 tie, least squares sees 0.04 and more.

    With contrast weights a, its bias is largest where a deviation has the sign of a − e_{z'} + e_z.
    """
    problem, means = parabola()
    own, other = (problem.worst_pair(arm, means) for arm in RIVALS)
    hat = problem.pairs @ np.linalg.pinv(problem.pairs)
    strayed = hat[own] - hat[other]
    strayed[own] -= 1
    strayed[other] += 1
    return problem, means + MISFIT * np.sign(strayed)
