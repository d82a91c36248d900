"""How many more pulls a study will need, if its estimates are right."""

from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms import Algorithm, Settings
from surefoot.arrays import IntArray
from surefoot.design import exact_separation
from surefoot.errors import InputError

LARGEST = 5_000  # pairs: beyond it the forecast would take longer than it is worth
LARGEST_DIRECT = 400  # the same without a model, where every pair is a dimension
TOLERANCE = 0.05
EARLY = 100  # pulls before which a forecast is hardly more than chance
MANY, MANY_MORE = 1_500, 3.0  # pulls left that are worth a word, and how many times those so far
NEAR_TIE = (
    "the best arms are nearly level: if a small difference does not matter, a new study, in "
    "another file, with a tolerance ends much sooner"
)


def expected_left(run: Algorithm) -> float | None:
    """Pulls left, by the plug-in complexity of the leader among its rivals, or None.

    Evidence grows with the square root of the pulls: n pulls at a characteristic time H give √(n /
    H), and the run stops where that reaches its boundary c. So where the hardest rival has evidence
    e so far, (c² − e²) H pulls are missing. A tolerance is as good as that much of a lead, a misfit
    takes some of it away, and rivals that are settled cost nothing.
    """
    direct = run.settings.misfit > 0
    largest = LARGEST_DIRECT if direct else LARGEST
    if run.problem.n_pairs > largest or not run.history or not run.survivors[run.leader]:
        return None
    rivals = np.flatnonzero(run.rivals)
    if not len(rivals):
        return 0.0
    try:
        with np.errstate(all="ignore"):
            hardness = _hardness_of(run, rivals)
    except (InputError, np.linalg.LinAlgError):
        return None
    left = _lacking(run) * hardness
    return left if math.isfinite(left) else None


def _hardness_of(run: Algorithm, rivals: IntArray) -> float:
    """Pulls per unit of squared evidence, by what the run may rely on."""
    if not run.settings.modelled:
        return _own_hardness(run, rivals)
    if not run.settings.misfit:
        return _hardness(run, rivals, run.settings.tolerance)
    return _hardness_with_misfit(run, rivals)


def _hardness_with_misfit(run: Algorithm, rivals: IntArray) -> float:
    """The model's, for gaps less what the misfit may add to both pairs of a comparison, or the
    pairs' own, which pay nothing for it: a run takes what says more.
    """
    own = _own_hardness(run, rivals)
    try:
        lead = run.settings.tolerance - 2 * run.settings.misfit
        return float(np.nanmin([own, _hardness(run, rivals, lead)]))
    except InputError:  # no gap is left
        return own


def _hardness(run: Algorithm, rivals: IntArray, lead: float) -> float:
    """The linear model's."""
    problem, tally = run.problem, run.tally
    instance = (problem.pairs, problem.offsets, tally.estimate, run.leader, rivals)
    design = exact_separation(*instance, rows=tally.rows, tolerance=TOLERANCE, lead=lead)
    variance = tally.relative_variance
    return design.value * (1.0 if variance is None else variance)


def _own_hardness(run: Algorithm, rivals: IntArray) -> float:
    """That of the pairs' own means and noise."""
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


def is_near_tie(told: int, left: float | None, settings: Settings) -> bool:
    """Whether so much is left that a user should know of tolerances, and has none yet."""
    if left is None or told < EARLY or settings.tolerance or settings.objective == "guess":
        return False
    return left > max(MANY_MORE * told, MANY)
