"""How many more pulls a study will need, if its estimates are right."""

from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms import Algorithm
from surefoot.arrays import IntArray
from surefoot.design import exact_separation
from surefoot.errors import InputError

LARGEST = 5_000  # pairs: beyond it the forecast would take longer than it is worth
LARGEST_DIRECT = 400  # the same without a model, where every pair is a dimension
TOLERANCE = 0.05


def expected_left(run: Algorithm) -> float | None:
    """Pulls left, by the plug-in complexity of the leader among the survivors, or None.

    Evidence grows with the square root of the pulls: n pulls at a characteristic time H give √(n /
    H), and the run stops where that reaches its boundary c; so it takes c² H pulls in all.
    """
    alive = np.flatnonzero(run.survivors)
    direct = run.settings.trust == "pairs"
    largest = LARGEST_DIRECT if direct else LARGEST
    if run.problem.n_pairs > largest or not run.history or run.leader not in alive:
        return None
    if len(alive) < 2:
        return 0.0
    try:
        with np.errstate(all="ignore"):
            hardness = (_own_hardness if direct else _hardness)(run, alive[alive != run.leader])
    except (InputError, np.linalg.LinAlgError):
        return None
    left = _squared_boundary(run) * hardness - run.samples
    return max(left, 0.0) if math.isfinite(left) else None


def _hardness(run: Algorithm, rivals: IntArray) -> float:
    """Pulls per unit of squared evidence, by the linear model."""
    problem, tally = run.problem, run.tally
    instance = (problem.pairs, problem.offsets, tally.estimate, run.leader, rivals)
    design = exact_separation(*instance, rows=tally.rows, tolerance=TOLERANCE)
    variance = tally.relative_variance
    return design.value * (1.0 if variance is None else variance)


def _own_hardness(run: Algorithm, rivals: IntArray) -> float:
    """The same by the pairs' own means and noise. A tolerance is as good as that much of a lead."""
    problem, tally = run.problem, run.tally
    scales, own = tally.noise_scales, np.eye(problem.n_pairs)
    if scales is None:
        return math.nan
    means = tally.pair_means.copy()
    means[problem.pairs_of(run.leader)] += run.settings.tolerance
    instance = (own, problem.offsets, means, run.leader, rivals)
    return exact_separation(*instance, rows=own / scales[:, None], tolerance=TOLERANCE).value


def _squared_boundary(run: Algorithm) -> float:
    """What the evidence has to reach; wealth grows like half the square of such evidence."""
    if run.boundary is None or run.settings.noise.evidence == "wealth":
        return 2 * math.log(1 / run.settings.delta)
    return run.boundary**2


def left_now(expected: float | None, phase_pulls: int, phase_told: int) -> float | None:
    """The forecast of the phase's beginning, less what was told since."""
    return None if expected is None else max(expected - phase_told, float(phase_pulls - phase_told))
