"""How hard the instance was that a run has met, by its own estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surefoot.algorithms import Result
from surefoot.errors import InputError

if TYPE_CHECKING:
    from surefoot.hardness import Complexity

LARGEST = 5_000  # pairs: beyond it, it would take longer than a reader waits
TOLERANCE = 1e-2


def estimated_hardness(result: Result) -> Complexity | None:
    """The complexity at the estimates of θ and of the noise; None where there is no telling."""
    from surefoot.hardness import complexity

    problem, scales = result.problem, result.noise_scales
    if scales is None or not result.samples or problem.n_pairs > LARGEST:
        return None
    try:
        return complexity(problem, result.theta, TOLERANCE, problem.pairs / scales[:, None])
    except (InputError, np.linalg.LinAlgError):  # a tie in the estimate, a single arm
        return None
