"""The design most likely to finish: it weighs rivals by how much evidence each of them still needs.

A max–min design (`leader_design`) lets every easy rival tag along at the same pace as the hardest one, and the run then
waits for the slowest of many. Here rival k, with gap g_k, direction v_k and evidence still needed c_k (in standard
deviations), is settled after n pulls with probability about Φ((√n g_k/‖v_k‖_{A⁻¹} − c_k)/τ_k); the design maximises the
product over the rivals. 1/‖v‖_{A⁻¹} is concave in the weights and log Φ is concave and increasing, so the
logarithm of that product is concave, and the largest entry of its gradient bounds what is left to gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from surefoot.design.types import FloatArray, IntArray

RIDGE = 1e-9
NEGLIGIBLE = 1e-3  # weights below this share of the largest are dropped between rounds
PRICED_IN = 40
ROUNDS = 3
NEWTON_STEPS = 25


@dataclass(frozen=True, eq=False)
class Rivals:
    """What a design has to settle.

    Attributes:
        directions: (n_rivals, dimension) leader's pair minus rival's.
        gaps: (n_rivals,) estimated gaps along them, positive.
        needs: (n_rivals,) evidence needed, in standard deviations.
        spreads: (n_rivals,) standard deviation of the evidence to come, the gap's own uncertainty included.
        pulls: how many pulls ahead to look.
    """

    directions: FloatArray
    gaps: FloatArray
    needs: FloatArray
    spreads: FloatArray
    pulls: float


@dataclass(frozen=True, eq=False)
class _Point:
    """The criterion at one set of weights, with what its derivatives need."""

    value: float
    factor: FloatArray
    whitened: FloatArray
    squares: FloatArray
    scores: FloatArray


def finishing_design(rows: FloatArray, start: FloatArray, rivals: Rivals, tolerance: float = 0.05) -> FloatArray:
    """(n_pairs,) weights whose log-probability to finish is within about `tolerance` of the best.

    Args:
        rows: (n_pairs, dimension) what a pull of each pair measures.
        start: (n_pairs,) weights to start from, spanning.
        rivals: what has to be settled.
    """
    weights = np.asarray(start / start.sum())
    gradient = _gradient(rows, weights, rivals)
    for _ in range(ROUNDS):
        work = _working_set(weights, gradient)
        share = np.maximum(weights[work], 1e-4 / len(work))
        found = _newton(rows[work], share / share.sum(), rivals, tolerance)
        weights = np.zeros(len(rows))
        weights[work] = np.where(found > NEGLIGIBLE * found.max(), found, 0.0)
        weights /= weights.sum()
        gradient = _gradient(rows, weights, rivals)
        if gradient.max() - weights @ gradient < 2 * tolerance:
            break
    return weights


def _working_set(weights: FloatArray, gradient: FloatArray) -> IntArray:
    """Pairs in use and those that promise most."""
    promising = np.argpartition(-gradient, min(PRICED_IN, len(gradient) - 1))[:PRICED_IN]
    promising = promising[gradient[promising] > 0.7 * (weights @ gradient)]
    return np.union1d(np.flatnonzero(weights > NEGLIGIBLE * weights.max()), promising)


def _point(rows: FloatArray, weights: FloatArray, rivals: Rivals) -> _Point | None:
    information = (rows.T * weights) @ rows
    information.flat[:: len(information) + 1] += RIDGE * np.trace(information) / len(information)
    factor, failed = linalg.lapack.dpotrf(information, lower=1)
    if failed:
        return None
    whitened = linalg.lapack.dtrtrs(factor, rivals.directions.T, lower=1)[0]
    squares = np.einsum("ij,ij->j", whitened, whitened)
    scores = (np.sqrt(rivals.pulls) * rivals.gaps / np.sqrt(squares) - rivals.needs) / rivals.spreads
    return _Point(float(special.log_ndtr(scores).sum()), factor, whitened, squares, scores)


def _slopes(point: _Point, rivals: Rivals) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hazard φ/Φ of each rival, the coefficient of its squared leverage in the gradient, and who matters."""
    hazard = np.exp(-(point.scores**2) / 2 - special.log_ndtr(point.scores)) / np.sqrt(2 * np.pi)
    slope = hazard * np.sqrt(rivals.pulls) / rivals.spreads * rivals.gaps / 2 * point.squares**-1.5
    return hazard, slope, slope > 1e-7 * slope.max()


def _gradient(rows: FloatArray, weights: FloatArray, rivals: Rivals) -> FloatArray:
    point = _point(rows, weights, rivals)
    assert point is not None
    _, slope, matters = _slopes(point, rivals)
    solved = linalg.lapack.dtrtrs(point.factor, point.whitened[:, matters], lower=1, trans=1)[0]
    return np.asarray((rows @ solved) ** 2 @ slope[matters])


def _newton(rows: FloatArray, weights: FloatArray, rivals: Rivals, tolerance: float) -> FloatArray:
    """Log-barrier Newton on the simplex; the gradient gives the certified gap that ends it."""
    point, barrier = _point(rows, weights, rivals), np.inf
    for _ in range(NEWTON_STEPS):
        assert point is not None
        gradient, curvature = _derivatives(rows, point, rivals)
        gap = float(gradient.max() - weights @ gradient)
        if gap < tolerance:
            break
        barrier = min(0.25 * barrier, 0.3 * gap / len(weights))
        direction = _newton_direction(weights, gradient, curvature, barrier)
        step = _longest_step(weights, direction)
        base = point.value + barrier * np.log(weights).sum()
        rise = float((gradient + barrier / weights) @ direction)
        moved, trial = weights, None
        for _ in range(12):
            moved = weights + step * direction
            trial = _point(rows, moved, rivals)
            if trial and trial.value + barrier * np.log(moved).sum() >= base + 1e-4 * step * rise:
                break
            step /= 2
        else:
            break
        weights, point = moved, trial
    return weights


def _derivatives(rows: FloatArray, point: _Point, rivals: Rivals) -> tuple[FloatArray, FloatArray]:
    """Gradient, and minus the Hessian, of the log-probability."""
    hazard, slope, matters = _slopes(point, rivals)
    q, root = point.squares[matters], np.sqrt(rivals.pulls) / rivals.spreads[matters]
    gaps, h, t = rivals.gaps[matters], hazard[matters], point.scores[matters]
    whitened_rows = linalg.lapack.dtrtrs(point.factor, rows.T, lower=1)[0]
    leverage = whitened_rows.T @ point.whitened[:, matters]
    squared = leverage**2
    bent = leverage * np.sqrt(h * root * gaps * q**-1.5)
    curvature = (bent @ bent.T) * (whitened_rows.T @ whitened_rows)
    outer = h * (t + h) * (root * gaps / 2 * q**-1.5) ** 2 - 0.75 * h * root * gaps * q**-2.5
    curvature += (squared * outer) @ squared.T
    return squared @ slope[matters], curvature


def _newton_direction(weights: FloatArray, gradient: FloatArray, curvature: FloatArray, barrier: float) -> FloatArray:
    matrix = curvature + np.diag(barrier / weights**2)
    matrix.flat[:: len(matrix) + 1] += 1e-12 * np.trace(matrix) / len(matrix)
    sides = np.column_stack([gradient + barrier / weights, np.ones(len(weights))])
    _, solved, failed = linalg.lapack.dposv(matrix, sides)
    if failed:  # rounding made the matrix indefinite: its diagonal still gives an ascent direction
        solved = sides / np.abs(np.diag(matrix))[:, None]
    return np.asarray(solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum()))


def _longest_step(weights: FloatArray, direction: FloatArray) -> float:
    falling = direction < 0
    return min(1.0, 0.95 / float(np.max(-direction[falling] / weights[falling]))) if falling.any() else 1.0
