"""How hard the instance was that a run has met, by its own estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.algorithms import Result
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

if TYPE_CHECKING:
    from surefoot.design.hardness import Complexity

LARGEST = 5_000  # pairs: beyond it, it would take longer than a reader waits
LARGEST_DIRECT = 400  # the same without a model, where every pair is a dimension
TOLERANCE = 1e-2


def estimated_hardness(result: Result) -> Complexity | None:
    """The complexity at the estimated means and noise, of the model or of pairs by themselves,
    whichever is trusted; None where there is no telling: a tolerance or shared streams need fewer
    pulls than its lower bound.
    """
    from surefoot.design.hardness import complexity

    scales = result.noise_scales
    if result.settings.tolerance or result.settings.common_random_numbers:
        return None
    model = result.settings.modelled
    largest = LARGEST if model else LARGEST_DIRECT
    if scales is None or not result.samples or result.problem.n_pairs > largest:
        return None
    problem, means = (
        (result.problem, result.sign * result.theta) if model else _by_themselves(result)
    )
    try:
        return complexity(problem, means, TOLERANCE, problem.pairs / scales[:, None])
    except (InputError, np.linalg.LinAlgError):  # a tie in the estimate, a single arm
        return None


def _by_themselves(result: Result) -> tuple[RobustProblem, Array]:
    """The problem with one feature for each pair, and their means."""
    problem = result.problem
    own = RobustProblem.from_pairs(np.eye(problem.n_pairs), problem.arm_of_pair)
    return own, np.nan_to_num(result.sign * result.pair_means)
