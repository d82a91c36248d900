"""The design most likely to finish: it weighs rivals by how much evidence each of them still needs.

A max–min design (`leader_design`) lets every easy rival tag along at the same pace as the hardest one, and the run then
waits for the slowest of many. Here rival k, with gap g_k, direction v_k and evidence still needed c_k (in standard
deviations), is settled after n pulls with probability about Φ((√n g_k/‖v_k‖_{A⁻¹} − c_k)/τ_k); the design maximises the
product over the rivals. 1/‖v‖_{A⁻¹} is concave in the weights and log Φ is concave and increasing, so the
logarithm of that product is concave, and the largest entry of its gradient bounds what is left to gain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import special

from surefoot.design.block_distance import announce_compilation
from surefoot.design.types import FloatArray, IntArray

RIDGE = 1e-9
NEGLIGIBLE = 1e-3  # weights below this share of the largest are dropped between rounds
IN_USE = 0.02  # weights above this share of the largest stay in the working set
PRICED_IN = 30
SETTLED = 1e-5  # hazard below which a rival no longer steers
ROUNDS = 3
NEWTON_STEPS = 25
CENTRED = 0.3  # how far each step aims from the boundary, as a share of the gap
SHORT_OF_ZERO = 0.95  # how far towards zero a step may take a weight or slack
STRAYED = 100.0
RELATIVE = 0.1  # far from finishing, when the gradient is steep, a rough design is good enough


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


def finishing_design(rows: FloatArray, start: FloatArray, rivals: Rivals, tolerance: float = 0.1) -> FloatArray:
    """(n_pairs,) weights whose log-probability to finish is about `tolerance` below the best when near the end.

    Args:
        rows: (n_pairs, dimension) what a pull of each pair measures.
        start: (n_pairs,) weights to start from, spanning.
        rivals: what has to be settled.
    """
    announce_compilation()
    weights = np.asarray(start / start.sum())
    gradient = gradient_of(rows, weights, rivals)
    for _ in range(ROUNDS):
        work = _working_set(weights, gradient)
        share = np.maximum(weights[work], 1e-4 / len(work))
        share /= share.sum()
        _newton(np.ascontiguousarray(rows[work]), share, *_fields(rivals), tolerance)
        weights = np.zeros(len(rows))
        weights[work] = np.where(share > NEGLIGIBLE * share.max(), share, 0.0)
        weights /= weights.sum()
        gradient = gradient_of(rows, weights, rivals)
        mean = float(weights @ gradient)
        if gradient.max() - mean < 2 * tolerance * max(1.0, RELATIVE * mean):
            break
    return weights


def gradient_of(rows: FloatArray, weights: FloatArray, rivals: Rivals) -> FloatArray:
    """(n_pairs,) derivative of the log-probability: its largest entry minus weights @ gradient bounds the gain left."""
    information = (rows.T * weights) @ rows
    information.flat[:: len(information) + 1] += RIDGE * np.trace(information) / len(information)
    solved = np.linalg.solve(information, rivals.directions.T)
    squares = np.einsum("kd,dk->k", rivals.directions, solved)
    scores = (np.sqrt(rivals.pulls / squares) * rivals.gaps - rivals.needs) / rivals.spreads
    hazard = np.exp(-(scores**2) / 2 - special.log_ndtr(scores)) / np.sqrt(2 * np.pi)
    slope = hazard * np.sqrt(rivals.pulls) / rivals.spreads * rivals.gaps / 2 * squares**-1.5
    return np.asarray((rows @ solved) ** 2 @ slope)


def _fields(rivals: Rivals) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    directions = np.ascontiguousarray(rivals.directions)
    return directions, rivals.gaps, rivals.needs, rivals.spreads, float(rivals.pulls)


def _working_set(weights: FloatArray, gradient: FloatArray) -> IntArray:
    """Pairs in use and those that promise most."""
    promising = np.argpartition(-gradient, min(PRICED_IN, len(gradient) - 1))[:PRICED_IN]
    promising = promising[gradient[promising] > 0.7 * (weights @ gradient)]
    return np.union1d(np.flatnonzero(weights > IN_USE * weights.max()), promising)


@njit(cache=True)
def _log_normal(t: float) -> float:
    """log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)


# Plain loops on purpose: array expressions and linear-algebra calls would take four times as long to compile.


@njit(cache=True)
def _cholesky(matrix: FloatArray) -> bool:
    """Replace the lower triangle by the Cholesky factor; False if the matrix is not positive definite."""
    n = len(matrix)
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = total / matrix[j, j]
            elif total > 0.0:
                matrix[i, i] = math.sqrt(total)
            else:
                return False
    return True


@njit(cache=True)
def _whiten(factor: FloatArray, vectors: FloatArray, out: FloatArray) -> None:
    """Each row of out becomes L⁻¹ times that row of vectors."""
    for k in range(len(vectors)):
        for a in range(len(factor)):
            total = vectors[k, a]
            for b in range(a):
                total -= factor[a, b] * out[k, b]
            out[k, a] = total / factor[a, a]


@njit(cache=True)
def _value(
    rows: FloatArray,
    weights: FloatArray,
    directions: FloatArray,
    gaps: FloatArray,
    needs: FloatArray,
    spreads: FloatArray,
    pulls: float,
    factor: FloatArray,
    whitened: FloatArray,
    squares: FloatArray,
    scores: FloatArray,
) -> float:
    """The log-probability; Cholesky factor, whitened directions, squared lengths and scores are written in place."""
    n, dimension = rows.shape
    factor[:, :] = 0.0
    trace = 0.0
    for i in range(n):
        for a in range(dimension):
            scaled = weights[i] * rows[i, a]
            trace += scaled * rows[i, a]
            for b in range(a + 1):
                factor[a, b] += scaled * rows[i, b]
    for a in range(dimension):
        factor[a, a] += RIDGE * trace / dimension
    if not _cholesky(factor):
        return -np.inf
    _whiten(factor, directions, whitened)
    value = 0.0
    for k in range(len(gaps)):
        total = 0.0
        for a in range(dimension):
            total += whitened[k, a] * whitened[k, a]
        squares[k] = total
        scores[k] = (math.sqrt(pulls / total) * gaps[k] - needs[k]) / spreads[k]
        value += _log_normal(scores[k])
    return value


@njit(cache=True)
def _derivatives(
    rows: FloatArray,
    factor: FloatArray,
    whitened: FloatArray,
    squares: FloatArray,
    scores: FloatArray,
    gaps: FloatArray,
    spreads: FloatArray,
    pulls: float,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """The gradient and minus the Hessian of the log-probability, written in place."""
    n, dimension = rows.shape
    white_rows, leverage = np.empty((n, dimension)), np.empty(n)
    _whiten(factor, rows, white_rows)
    gradient[:] = 0.0
    curvature[:, :] = 0.0
    product = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            for a in range(dimension):
                product[i, j] += white_rows[i, a] * white_rows[j, a]
    for k in range(len(gaps)):
        hazard = math.exp(-(scores[k] ** 2) / 2 - 0.5 * math.log(2 * math.pi) - _log_normal(scores[k]))
        if hazard < SETTLED:
            continue
        root = math.sqrt(pulls) / spreads[k]
        slope = root * gaps[k] / 2 / squares[k] ** 1.5
        bend = 2 * hazard * slope
        outer = hazard * (scores[k] + hazard) * slope * slope - 1.5 * hazard * slope / squares[k]
        for i in range(n):
            leverage[i] = 0.0
            for a in range(dimension):
                leverage[i] += white_rows[i, a] * whitened[k, a]
            gradient[i] += hazard * slope * leverage[i] * leverage[i]
        for i in range(n):
            for j in range(i + 1):
                both = leverage[i] * leverage[j]
                curvature[i, j] += both * (bend * product[i, j] + outer * both)


@njit(cache=True)
def _newton_direction(
    weights: FloatArray,
    slacks: FloatArray,
    gradient: FloatArray,
    curvature: FloatArray,
    barrier: float,
    direction: FloatArray,
) -> None:
    """The primal–dual step of the barrier problem along the simplex, written in place."""
    n = len(weights)
    trace = 0.0
    for i in range(n):
        curvature[i, i] += slacks[i] / weights[i]
        trace += curvature[i, i]
    diagonal = np.empty(n)
    for i in range(n):
        curvature[i, i] += 1e-12 * trace / n
        diagonal[i] = abs(curvature[i, i])
    ones = np.ones(n)
    for i in range(n):
        direction[i] = gradient[i] + barrier / weights[i]
    if _cholesky(curvature):
        for side in (direction, ones):
            for i in range(n):
                for j in range(i):
                    side[i] -= curvature[i, j] * side[j]
                side[i] /= curvature[i, i]
            for i in range(n - 1, -1, -1):
                for j in range(i + 1, n):
                    side[i] -= curvature[j, i] * side[j]
                side[i] /= curvature[i, i]
    else:  # rounding made the matrix indefinite: its diagonal still gives an ascent direction
        for i in range(n):
            direction[i] /= diagonal[i]
            ones[i] /= diagonal[i]
    shift = direction.sum() / ones.sum()
    for i in range(n):
        direction[i] -= shift * ones[i]


@njit(cache=True)
def _move_slacks(
    weights: FloatArray, slacks: FloatArray, direction: FloatArray, barrier: float, change: FloatArray
) -> None:
    """Slacks follow the weights' direction, linearly from slack · weight = barrier, and stay positive."""
    step = 1.0
    for i in range(len(weights)):
        change[i] = barrier / weights[i] - slacks[i] - slacks[i] / weights[i] * direction[i]
        if change[i] < 0:
            step = min(step, -SHORT_OF_ZERO * slacks[i] / change[i])
    for i in range(len(weights)):
        slacks[i] += step * change[i]


@njit(cache=True)
def _newton(
    rows: FloatArray,
    weights: FloatArray,
    directions: FloatArray,
    gaps: FloatArray,
    needs: FloatArray,
    spreads: FloatArray,
    pulls: float,
    tolerance: float,
) -> None:
    """Primal–dual interior point on the simplex, in place; the gradient gives the gap that ends it."""
    n, dimension = rows.shape
    factor, whitened = np.empty((dimension, dimension)), np.empty((len(gaps), dimension))
    squares, scores = np.empty(len(gaps)), np.empty(len(gaps))
    gradient, curvature = np.empty(n), np.empty((n, n))
    direction, trial, slacks = np.empty(n), np.empty(n), np.zeros(n)
    value = _value(rows, weights, directions, gaps, needs, spreads, pulls, factor, whitened, squares, scores)
    for _ in range(NEWTON_STEPS):
        _derivatives(rows, factor, whitened, squares, scores, gaps, spreads, pulls, gradient, curvature)
        mean = 0.0
        for i in range(n):
            mean += weights[i] * gradient[i]
        gap = gradient.max() - mean
        if gap < tolerance * max(1.0, RELATIVE * mean):
            return
        barrier = CENTRED * gap / n
        for i in range(n):  # a slack that has strayed far would spoil the step: at the start all are 0
            central = barrier / weights[i]
            slacks[i] = central if slacks[i] == 0.0 else min(max(slacks[i], central / STRAYED), central * STRAYED)
        _newton_direction(weights, slacks, gradient, curvature, barrier, direction)
        base, rise, step = value, 0.0, 1.0
        for i in range(n):
            base += barrier * math.log(weights[i])
            rise += (gradient[i] + barrier / weights[i]) * direction[i]
            if direction[i] < 0:
                step = min(step, -SHORT_OF_ZERO * weights[i] / direction[i])
        moved = False
        for _ in range(12):
            for i in range(n):
                trial[i] = weights[i] + step * direction[i]
            value = _value(rows, trial, directions, gaps, needs, spreads, pulls, factor, whitened, squares, scores)
            reached = value
            for i in range(n):
                reached += barrier * math.log(trial[i])
            if reached >= base + 1e-4 * step * rise:
                moved = True
                break
            step /= 2
        if not moved:
            return
        _move_slacks(weights, slacks, direction, barrier, gradient)
        weights[:] = trial
