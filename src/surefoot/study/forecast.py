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
    """Pulls left, by the plug-in complexity of the leader among its rivals, or None.

    Evidence grows with the square root of the pulls: n pulls at a characteristic time H give √(n /
    H), and the run stops where that reaches its boundary c. So where the hardest rival has evidence
    e so far, (c² − e²) H pulls are missing. A tolerance is as good as that much of a lead, and
    rivals that it has settled cost nothing.
    """
    direct = run.settings.trust == "pairs"
    largest = LARGEST_DIRECT if direct else LARGEST
    if run.problem.n_pairs > largest or not run.history or not run.survivors[run.leader]:
        return None
    rivals = np.flatnonzero(run.rivals)
    if not len(rivals):
        return 0.0
    try:
        with np.errstate(all="ignore"):
            hardness = (_own_hardness if direct else _hardness)(run, rivals)
    except (InputError, np.linalg.LinAlgError):
        return None
    left = _lacking(run) * hardness
    return left if math.isfinite(left) else None


def _hardness(run: Algorithm, rivals: IntArray) -> float:
    """Pulls per unit of squared evidence, by the linear model."""
    problem, tally, lead = run.problem, run.tally, run.settings.tolerance
    instance = (problem.pairs, problem.offsets, tally.estimate, run.leader, rivals)
    design = exact_separation(*instance, rows=tally.rows, tolerance=TOLERANCE, lead=lead)
    variance = tally.relative_variance
    return design.value * (1.0 if variance is None else variance)


def _own_hardness(run: Algorithm, rivals: IntArray) -> float:
    """The same by the pairs' own means and noise."""
    problem, tally, lead = run.problem, run.tally, run.settings.tolerance
    scales, own = tally.noise_scales, np.eye(problem.n_pairs)
    if scales is None:
        return math.nan
    instance = (own, problem.offsets, tally.pair_means, run.leader, rivals)
    rows = own / scales[:, None]
    return exact_separation(*instance, rows=rows, tolerance=TOLERANCE, lead=lead).value


def _lacking(run: Algorithm) -> float:
    """The squared evidence that is missing; wealth grows like half the square of such evidence."""
    held = run.weakest_evidence
    if run.boundary is None:
        return 2 * math.log(1 / run.settings.delta)
    if run.settings.noise.evidence == "wealth":
        return max(2 * (run.boundary - held), 0.0)
    return max(run.boundary**2 - held**2, 0.0)


def left_now(expected: float | None, phase_pulls: int, phase_told: int) -> float | None:
    """The forecast of the phase's beginning, less what was told since."""
    return None if expected is None else max(expected - phase_told, float(phase_pulls - phase_told))
