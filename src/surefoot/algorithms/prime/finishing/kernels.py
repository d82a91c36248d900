"""The finishing design's log-probability and its derivatives, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from surefoot.arrays import Array
from surefoot.system.compiled import kernel

RIDGE = 1e-9
SETTLED = 1e-5  # hazard below which a rival no longer steers
FLAT = 0.01  # where the mean gradient is below this, finishing is as good as certain
REORDERED = {
    "reassoc",
    "contract",
}  # sums may be taken in another order: vector units then work on them


class Rivals(NamedTuple):
    """What a design has to settle.

    Attributes:
        directions: (n_rivals, dimension) leader's pair minus rival's.
        gaps: (n_rivals,) estimated gaps along them, positive.
        needs: (n_rivals,) evidence needed, in standard deviations.
        spreads: (n_rivals,) standard deviation of the evidence to come, the gap's own uncertainty
            included.
        pulls: how many pulls ahead to look.
    """

    directions: Array
    gaps: Array
    needs: Array
    spreads: Array
    pulls: float


class Appraisal(NamedTuple):
    """What an evaluation leaves behind for the derivatives, written in place.

    Attributes:
        factor: (dimension, dimension) Cholesky factor of the information.
        whitened: (n_rivals, dimension) directions where length is ‖·‖_{A⁻¹}.
        squares: (n_rivals,) their squared lengths.
        scores: (n_rivals,) how likely each rival is settled, as normal scores.
    """

    factor: Array
    whitened: Array
    squares: Array
    scores: Array


@kernel
def blank_appraisal(n_rivals: int, dimension: int) -> Appraisal:
    return Appraisal(
        np.empty((dimension, dimension)),
        np.empty((n_rivals, dimension)),
        np.empty(n_rivals),
        np.empty(n_rivals),
    )


# Inlined, so that its caller decides in which order sums may be taken.
@register_jitable(inline="always")
def settling_score(gain: float, need: float, spread: float) -> float:
    """How likely a rival is settled, as a normal score: evidence expected beyond what is needed."""
    return (gain - need) / spread


@kernel
def log_normal(t: float) -> float:
    """log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)


# Plain loops on purpose: array expressions and linear-algebra calls would take four times as long
# to compile.


@kernel(fastmath=REORDERED)
def factorise(matrix: Array) -> bool:
    """Replace the lower triangle by the Cholesky factor; False if there is none."""
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


@kernel(fastmath=REORDERED)
def factorise_information(rows: Array, weights: Array, factor: Array) -> bool:
    """Write the Cholesky factor of Σ weight z zᵀ, with a little ridge; False if there is none."""
    n, dimension = rows.shape
    factor[:, :] = 0.0
    trace = 0.0
    for i in range(n):
        if weights[i] == 0.0:
            continue
        for a in range(dimension):
            scaled = weights[i] * rows[i, a]
            trace += scaled * rows[i, a]
            for b in range(a + 1):
                factor[a, b] += scaled * rows[i, b]
    for a in range(dimension):
        factor[a, a] += RIDGE * trace / dimension
    return bool(factorise(factor))


@kernel(fastmath=REORDERED)
def whiten(factor: Array, vectors: Array, out: Array) -> None:
    """Each row of out becomes L⁻¹ times that row of vectors."""
    for k in range(len(vectors)):
        for a in range(len(factor)):
            total = vectors[k, a]
            for b in range(a):
                total -= factor[a, b] * out[k, b]
            out[k, a] = total / factor[a, a]


@kernel(fastmath=REORDERED)
def evaluate(rows: Array, weights: Array, rivals: Rivals, appraisal: Appraisal) -> float:
    """The log-probability; what it took is written into the appraisal."""
    factor, whitened = appraisal.factor, appraisal.whitened
    if not factorise_information(rows, weights, factor):
        return -np.inf
    whiten(factor, rivals.directions, whitened)
    dimension, value = len(factor), 0.0
    for k in range(len(rivals.gaps)):
        total = 0.0
        for a in range(dimension):
            total += whitened[k, a] * whitened[k, a]
        appraisal.squares[k] = total
        gain = math.sqrt(rivals.pulls / total) * rivals.gaps[k]
        score = settling_score(gain, rivals.needs[k], rivals.spreads[k])
        appraisal.scores[k] = score
        value += log_normal(score)
    return value


@kernel(fastmath=REORDERED)
def differentiate(
    rows: Array, rivals: Rivals, appraisal: Appraisal, gradient: Array, curvature: Array
) -> None:
    """The gradient and minus the Hessian of the log-probability, written in place."""
    factor, whitened = appraisal.factor, appraisal.whitened
    squares, scores = appraisal.squares, appraisal.scores
    n, dimension = rows.shape
    white_rows, leverage = np.empty((n, dimension)), np.empty(n)
    whiten(factor, rows, white_rows)
    gradient[:] = 0.0
    curvature[:, :] = 0.0
    product = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for a in range(dimension):
                total += white_rows[i, a] * white_rows[j, a]
            product[i, j] = total
    for k in range(len(rivals.gaps)):
        hazard = _hazard(scores[k])
        if hazard < SETTLED:
            continue
        root = math.sqrt(rivals.pulls) / rivals.spreads[k]
        slope = root * rivals.gaps[k] / 2 / squares[k] ** 1.5
        bend = 2 * hazard * slope
        outer = hazard * (scores[k] + hazard) * slope * slope - 1.5 * hazard * slope / squares[k]
        for i in range(n):
            total = 0.0
            for a in range(dimension):
                total += white_rows[i, a] * whitened[k, a]
            leverage[i] = total
            gradient[i] += hazard * slope * total * total
        for i in range(n):
            for j in range(i + 1):
                both = leverage[i] * leverage[j]
                curvature[i, j] += both * (bend * product[i, j] + outer * both)


@kernel
def _hazard(score: float) -> float:
    """The derivative of log Φ."""
    return math.exp(-(score**2) / 2 - 0.5 * math.log(2 * math.pi) - log_normal(score))


@kernel(fastmath=REORDERED)
def gradient_at(
    rows: Array, weights: Array, rivals: Rivals, gradient: Array, lengths: Array
) -> float:
    """The log-probability; its gradient at some pairs, and directions' lengths, in place."""
    dimension, count = rows.shape[1], len(rivals.gaps)
    appraisal = blank_appraisal(count, dimension)
    factor, solved = appraisal.factor, appraisal.whitened
    squares, scores = appraisal.squares, appraisal.scores
    gradient[:] = 0.0
    lengths[:] = np.inf
    value: float = evaluate(rows, weights, rivals, appraisal)
    if value == -np.inf:
        return value
    for k in range(count):
        lengths[k] = math.sqrt(squares[k])
        hazard = _hazard(scores[k])
        if hazard < SETTLED:
            continue
        slope = (
            hazard
            * math.sqrt(rivals.pulls)
            / rivals.spreads[k]
            * rivals.gaps[k]
            / 2
            / squares[k] ** 1.5
        )
        for a in range(dimension - 1, -1, -1):
            for b in range(a + 1, dimension):
                solved[k, a] -= factor[b, a] * solved[k, b]
            solved[k, a] /= factor[a, a]
        for i in range(len(rows)):
            leverage = 0.0
            for a in range(dimension):
                leverage += rows[i, a] * solved[k, a]
            gradient[i] += slope * leverage * leverage
    return value
