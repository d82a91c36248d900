"""How many more pulls a study will need, if its estimates are right."""

from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms import Algorithm
from surefoot.design import exact_separation
from surefoot.errors import InputError

LARGEST = 5_000  # pairs: beyond it the forecast would take longer than it is worth
TOLERANCE = 0.05


def expected_left(run: Algorithm) -> float | None:
    """Pulls left, by the plug-in complexity of the leader among the survivors, or None.

    Evidence grows with the square root of the pulls: n pulls at a characteristic time H give √(n /
    H), and the run stops where that reaches its boundary c; so it takes c² H pulls in all.
    """
    problem, tally = run.problem, run.tally
    alive = np.flatnonzero(run.survivors)
    if problem.n_pairs > LARGEST or not run.history or run.leader not in alive:
        return None
    if len(alive) < 2:
        return 0.0
    try:
        with np.errstate(all="ignore"):
            rivals = alive[alive != run.leader]
            instance = (problem.pairs, problem.offsets, tally.estimate, run.leader, rivals)
            design = exact_separation(*instance, rows=tally.rows, tolerance=TOLERANCE)
    except (InputError, np.linalg.LinAlgError):
        return None
    squared_boundary = (
        run.boundary**2 if run.boundary is not None else 2 * math.log(1 / run.settings.delta)
    )
    variance = tally.relative_variance
    left = squared_boundary * design.value * (1.0 if variance is None else variance) - run.samples
    return max(left, 0.0) if math.isfinite(left) else None


def left_now(expected: float | None, phase_pulls: int, phase_told: int) -> float | None:
    """The forecast of the phase's beginning, less what was told since."""
    return None if expected is None else max(expected - phase_told, float(phase_pulls - phase_told))
