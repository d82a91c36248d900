"""The compiled half of the finishing design: its log-probability, derivatives, and an interior point on the simplex."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from surefoot.arrays import Array, IntArray

RIDGE = 1e-9
SETTLED = 1e-5  # hazard below which a rival no longer steers
FLAT = 0.01  # where the mean gradient is below this, finishing is as good as certain
NEWTON_STEPS = 25
CENTRED = 0.3  # how far each step aims from the boundary, as a share of the gap
SHORT_OF_ZERO = 0.95  # how far towards zero a step may take a weight or slack
STRAYED = 100.0  # slacks this many times off the central path are brought back
ROUNDS = 3
LEAST_SHARE = 1e-4  # of an even share: where a pair's weight starts at least
NEGLIGIBLE = 1e-7  # weights below this share of the largest are dropped between rounds
IN_USE = 0.02  # weights above this share of the largest stay in the working set
PRICED_IN = 30
PROMISING = 0.4  # a pair whose gradient is below this share of the mean is not priced in
EXCHANGES = 6  # pulls that rounding put wrong, at most
WORTHWHILE = 1.5  # how many times more a pull has to be worth elsewhere
REORDERED = {"reassoc", "contract"}  # sums may be taken in another order: vector units then work on them


@njit(cache=True)
def log_normal(t: float) -> float:
    """log Φ(t), by its asymptotic series far in the lower tail."""
    if t > -30.0:
        return math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
    return -t * t / 2 - math.log(-t * math.sqrt(2 * math.pi)) - 1 / (t * t)


# Plain loops on purpose: array expressions and linear-algebra calls would take four times as long to compile.


@njit(cache=True, fastmath=REORDERED)
def factorise(matrix: Array) -> bool:
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


@njit(cache=True, fastmath=REORDERED)
def factorise_information(rows: Array, weights: Array, factor: Array) -> bool:
    """Write the Cholesky factor of Σ weight z zᵀ, with a little ridge; False if that is not positive definite."""
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


@njit(cache=True, fastmath=REORDERED)
def whiten(factor: Array, vectors: Array, out: Array) -> None:
    """Each row of out becomes L⁻¹ times that row of vectors."""
    for k in range(len(vectors)):
        for a in range(len(factor)):
            total = vectors[k, a]
            for b in range(a):
                total -= factor[a, b] * out[k, b]
            out[k, a] = total / factor[a, a]


@njit(cache=True, fastmath=REORDERED)
def evaluate(
    rows: Array,
    weights: Array,
    directions: Array,
    gaps: Array,
    needs: Array,
    spreads: Array,
    pulls: float,
    factor: Array,
    whitened: Array,
    squares: Array,
    scores: Array,
) -> float:
    """The log-probability; Cholesky factor, whitened directions, squared lengths and scores are written in place."""
    if not factorise_information(rows, weights, factor):
        return -np.inf
    whiten(factor, directions, whitened)
    dimension, value = len(factor), 0.0
    for k in range(len(gaps)):
        total = 0.0
        for a in range(dimension):
            total += whitened[k, a] * whitened[k, a]
        squares[k] = total
        scores[k] = (math.sqrt(pulls / total) * gaps[k] - needs[k]) / spreads[k]
        value += log_normal(scores[k])
    return value


@njit(cache=True, fastmath=REORDERED)
def differentiate(
    rows: Array,
    factor: Array,
    whitened: Array,
    squares: Array,
    scores: Array,
    gaps: Array,
    spreads: Array,
    pulls: float,
    gradient: Array,
    curvature: Array,
) -> None:
    """The gradient and minus the Hessian of the log-probability, written in place."""
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
    for k in range(len(gaps)):
        hazard = _hazard(scores[k])
        if hazard < SETTLED:
            continue
        root = math.sqrt(pulls) / spreads[k]
        slope = root * gaps[k] / 2 / squares[k] ** 1.5
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


@njit(cache=True)
def _hazard(score: float) -> float:
    """The derivative of log Φ."""
    return math.exp(-(score**2) / 2 - 0.5 * math.log(2 * math.pi) - log_normal(score))


@njit(cache=True, fastmath=REORDERED)
def gradient_at(
    rows: Array,
    weights: Array,
    directions: Array,
    gaps: Array,
    needs: Array,
    spreads: Array,
    pulls: float,
    gradient: Array,
    lengths: Array,
) -> float:
    """The log-probability; its gradient at any number of pairs and the directions' lengths are written in place."""
    dimension, rivals = rows.shape[1], len(gaps)
    factor, solved = np.empty((dimension, dimension)), np.empty((rivals, dimension))
    squares, scores = np.empty(rivals), np.empty(rivals)
    gradient[:] = 0.0
    lengths[:] = np.inf
    value: float = evaluate(rows, weights, directions, gaps, needs, spreads, pulls, factor, solved, squares, scores)
    if value == -np.inf:
        return value
    for k in range(rivals):
        lengths[k] = math.sqrt(squares[k])
        hazard = _hazard(scores[k])
        if hazard < SETTLED:
            continue
        slope = hazard * math.sqrt(pulls) / spreads[k] * gaps[k] / 2 / squares[k] ** 1.5
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


@njit(cache=True, fastmath=REORDERED)
def _newton_direction(
    weights: Array,
    slacks: Array,
    gradient: Array,
    curvature: Array,
    barrier: float,
    direction: Array,
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
    if factorise(curvature):
        for side in (direction, ones):
            for i in range(n):
                row, total = curvature[i], side[i]
                for j in range(i):
                    total -= row[j] * side[j]
                side[i] = total / row[i]
            for i in range(n - 1, -1, -1):
                row = curvature[i]
                side[i] /= row[i]
                for j in range(i):
                    side[j] -= row[j] * side[i]
    else:  # rounding made the matrix indefinite: its diagonal still gives an ascent direction
        for i in range(n):
            direction[i] /= diagonal[i]
            ones[i] /= diagonal[i]
    shift = direction.sum() / ones.sum()
    for i in range(n):
        direction[i] -= shift * ones[i]


@njit(cache=True)
def _move_slacks(weights: Array, slacks: Array, direction: Array, barrier: float, change: Array) -> None:
    """Slacks follow the weights' direction, linearly from slack · weight = barrier, and stay positive."""
    step = 1.0
    for i in range(len(weights)):
        change[i] = barrier / weights[i] - slacks[i] - slacks[i] / weights[i] * direction[i]
        if change[i] < 0:
            step = min(step, -SHORT_OF_ZERO * slacks[i] / change[i])
    for i in range(len(weights)):
        slacks[i] += step * change[i]


@njit(cache=True)
def newton(
    rows: Array,
    weights: Array,
    directions: Array,
    gaps: Array,
    needs: Array,
    spreads: Array,
    pulls: float,
    tolerance: float,
) -> None:
    """Primal–dual interior point on the simplex, in place; the gradient gives the gap that ends it."""
    n, dimension = rows.shape
    factor, whitened = np.empty((dimension, dimension)), np.empty((len(gaps), dimension))
    squares, scores = np.empty(len(gaps)), np.empty(len(gaps))
    gradient, curvature = np.empty(n), np.empty((n, n))
    direction, trial, slacks = np.empty(n), np.empty(n), np.zeros(n)
    value = evaluate(rows, weights, directions, gaps, needs, spreads, pulls, factor, whitened, squares, scores)
    for _ in range(NEWTON_STEPS):
        differentiate(rows, factor, whitened, squares, scores, gaps, spreads, pulls, gradient, curvature)
        mean = 0.0
        for i in range(n):
            mean += weights[i] * gradient[i]
        gap = gradient.max() - mean
        if gap <= tolerance * max(mean, FLAT):
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
            value = evaluate(rows, trial, directions, gaps, needs, spreads, pulls, factor, whitened, squares, scores)
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


@njit(cache=True)
def _working_set(weights: Array, gradient: Array, mean: float) -> IntArray:
    """Pairs in use and those that promise most."""
    in_use, priced_in = weights > IN_USE * weights.max(), np.zeros(len(weights), dtype=np.bool_)
    for _ in range(min(PRICED_IN, len(weights))):
        best, most = -1, PROMISING * mean
        for i in range(len(weights)):
            if gradient[i] > most and not priced_in[i]:
                best, most = i, gradient[i]
        if best < 0:
            break
        priced_in[best] = True
    return np.flatnonzero(in_use | priced_in)


@njit(cache=True)
def improve(
    rows: Array,
    weights: Array,
    directions: Array,
    gaps: Array,
    needs: Array,
    spreads: Array,
    pulls: float,
    tolerance: float,
    lengths: Array,
) -> None:
    """Newton's method on the pairs in use and a few that promise most, until no other pair does; in place.

    The directions' lengths under the weights are written too.
    """
    gradient = np.empty(len(rows))
    for left in range(ROUNDS, -1, -1):
        gradient_at(rows, weights, directions, gaps, needs, spreads, pulls, gradient, lengths)
        mean = 0.0
        for i in range(len(weights)):
            mean += weights[i] * gradient[i]
        if left == 0 or gradient.max() - mean <= 2 * tolerance * max(mean, FLAT):
            return
        work = _working_set(weights, gradient, mean)
        share = np.maximum(weights[work], LEAST_SHARE / len(work))
        share /= share.sum()
        newton(rows[work], share, directions, gaps, needs, spreads, pulls, tolerance)
        least = NEGLIGIBLE * share.max()
        weights[:] = 0.0
        for j in range(len(work)):
            weights[work[j]] = share[j] if share[j] > least else 0.0
        weights /= weights.sum()


@njit(cache=True)
def exchange(
    main: IntArray,
    aside: IntArray,
    rows: Array,
    directions: Array,
    gaps: Array,
    needs: Array,
    spreads: Array,
    pulls: float,
) -> None:
    """Move single pulls of the main ones, in place, while the log-probability rises."""
    total = float(main.sum() + aside.sum())
    worth, lengths = np.empty(len(rows)), np.empty(len(gaps))
    value = gradient_at(rows, (main + aside) / total, directions, gaps, needs, spreads, pulls, worth, lengths)
    for _ in range(EXCHANGES):
        giver, taker = -1, np.argmax(worth)
        for i in range(len(main)):
            if main[i] > 0 and (giver < 0 or worth[i] < worth[giver]):
                giver = i
        if giver < 0 or worth[taker] <= WORTHWHILE * worth[giver]:
            return
        main[giver] -= 1
        main[taker] += 1
        reached = gradient_at(rows, (main + aside) / total, directions, gaps, needs, spreads, pulls, worth, lengths)
        if reached <= value:
            main[giver] += 1
            main[taker] -= 1
            return
        value = reached
