"""The search for the finishing design: an interior point, and single pulls after rounding.

Plain loops here too: `sum`, `max`, or an array copied into another cost the first user five seconds
of compilation.
"""

from __future__ import annotations

import math

import numpy as np

from surefoot.algorithms.prime.constants import Effort
from surefoot.algorithms.prime.finishing.kernels import (
    FLAT,
    REORDERED,
    Rivals,
    blank_appraisal,
    differentiate,
    evaluate,
    factorise,
    gradient_at,
)
from surefoot.arrays import Array, IntArray
from surefoot.system.compiled import kernel

NEWTON_STEPS = 25
CENTRED = 0.3  # how far each step aims from the boundary, as a share of the gap
SHORT_OF_ZERO = 0.95  # how far towards zero a step may take a weight or slack
STRAYED = 100.0  # slacks this many times off the central path are brought back
LEAST_SHARE = 1e-4  # of an even share: where a pair's weight starts at least
NEGLIGIBLE = 1e-7  # weights below this share of the largest are dropped between rounds


@kernel(fastmath=REORDERED)
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
    diagonal, ones = np.empty(n), np.empty(n)
    for i in range(n):
        curvature[i, i] += 1e-12 * trace / n
        diagonal[i] = abs(curvature[i, i])
    for i in range(n):
        direction[i], ones[i] = gradient[i] + barrier / weights[i], 1.0
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
    ahead, along = 0.0, 0.0
    for i in range(n):
        ahead += direction[i]
        along += ones[i]
    for i in range(n):
        direction[i] -= ahead / along * ones[i]


@kernel
def _move_slacks(
    weights: Array, slacks: Array, direction: Array, barrier: float, change: Array
) -> None:
    """Slacks follow the weights' direction, linearly, and stay positive."""
    step = 1.0
    for i in range(len(weights)):
        change[i] = barrier / weights[i] - slacks[i] - slacks[i] / weights[i] * direction[i]
        if change[i] < 0:
            step = min(step, -SHORT_OF_ZERO * slacks[i] / change[i])
    for i in range(len(weights)):
        slacks[i] += step * change[i]


@kernel
def newton(rows: Array, weights: Array, rivals: Rivals, tolerance: float) -> None:
    """Primal–dual interior point on the simplex, in place; the gradient's gap ends it."""
    n, dimension = rows.shape
    appraisal = blank_appraisal(len(rivals.gaps), dimension)
    gradient, curvature = np.empty(n), np.empty((n, n))
    direction, trial, slacks = np.empty(n), np.empty(n), np.zeros(n)
    value = evaluate(rows, weights, rivals, appraisal)
    for _ in range(NEWTON_STEPS):
        differentiate(rows, rivals, appraisal, gradient, curvature)
        mean, largest = 0.0, 0.0
        for i in range(n):
            mean += weights[i] * gradient[i]
            largest = max(largest, gradient[i])
        gap = largest - mean
        if gap <= tolerance * max(mean, FLAT):
            return
        barrier = CENTRED * gap / n
        for i in range(
            n
        ):  # a slack that has strayed far would spoil the step: at the start all are 0
            central = barrier / weights[i]
            slacks[i] = (
                central
                if slacks[i] == 0.0
                else min(max(slacks[i], central / STRAYED), central * STRAYED)
            )
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
            value = evaluate(rows, trial, rivals, appraisal)
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
        for i in range(n):
            weights[i] = trial[i]


@kernel
def _working_set(weights: Array, gradient: Array, mean: float, effort: Effort) -> IntArray:
    """Pairs in use and those that promise most."""
    largest, count = 0.0, 0
    for weight in weights:
        largest = max(largest, weight)
    wanted, priced_in = (
        np.empty(len(weights), dtype=np.bool_),
        np.zeros(len(weights), dtype=np.bool_),
    )
    for i in range(len(weights)):
        wanted[i] = weights[i] > effort.in_use * largest
    for _ in range(effort.priced_in):
        best, most = -1, effort.promising * mean
        for i in range(len(weights)):
            if gradient[i] > most and not priced_in[i]:
                best, most = i, gradient[i]
        if best < 0:
            break
        priced_in[best] = wanted[best] = True
    work = np.empty(len(weights), dtype=np.int64)
    for i in range(len(weights)):
        if wanted[i]:
            work[count] = i
            count += 1
    return work[:count]


@kernel
def improve(rows: Array, weights: Array, rivals: Rivals, effort: Effort, lengths: Array) -> None:
    """Newton's method on the pairs in use and a few that promise most, in place.

    The directions' lengths under the weights are written too.
    """
    gradient = np.empty(len(rows))
    for left in range(effort.rounds, -1, -1):
        gradient_at(rows, weights, rivals, gradient, lengths)
        mean, largest = 0.0, 0.0
        for i in range(len(weights)):
            mean += weights[i] * gradient[i]
            largest = max(largest, gradient[i])
        if left == 0 or largest - mean <= 2 * effort.tolerance * max(mean, FLAT):
            return
        work = _working_set(weights, gradient, mean, effort)
        chosen, share, total = np.empty((len(work), rows.shape[1])), np.empty(len(work)), 0.0
        for j in range(len(work)):
            for a in range(rows.shape[1]):
                chosen[j, a] = rows[work[j], a]
            share[j] = max(weights[work[j]], LEAST_SHARE / len(work))
            total += share[j]
        for j in range(len(work)):
            share[j] /= total
        newton(chosen, share, rivals, effort.tolerance)
        largest, total = 0.0, 0.0
        for j in range(len(work)):
            largest = max(largest, share[j])
        weights[:] = 0.0
        for j in range(len(work)):
            if share[j] > NEGLIGIBLE * largest:
                weights[work[j]] = share[j]
                total += share[j]
        for j in range(len(work)):
            weights[work[j]] /= total


@kernel
def exchange(main: IntArray, aside: IntArray, rows: Array, rivals: Rivals, effort: Effort) -> None:
    """Move single pulls of the main ones, in place, while the log-probability rises."""
    n, total = len(main), 0
    for i in range(n):
        total += main[i] + aside[i]
    weights, worth, lengths = np.empty(n), np.empty(n), np.empty(len(rivals.gaps))
    value, giver, taker = -np.inf, 0, 0
    for left in range(effort.exchanges, -1, -1):
        for i in range(n):
            weights[i] = (main[i] + aside[i]) / total
        reached = gradient_at(rows, weights, rivals, worth, lengths)
        if giver != taker and reached <= value:
            main[giver] += 1
            main[taker] -= 1
            return
        value, giver, taker = reached, -1, 0
        for i in range(n):
            if worth[i] > worth[taker]:
                taker = i
            if main[i] > 0 and (giver < 0 or worth[i] < worth[giver]):
                giver = i
        if left == 0 or giver < 0 or worth[taker] <= effort.worthwhile * worth[giver]:
            return
        main[giver] -= 1
        main[taker] += 1
