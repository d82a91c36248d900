"""The paper's Frank-Wolfe, once, as the baseline: step 2/(k+2), stop when the criterion changes by less than 1 %.

It certifies nothing: the gap of what it returns is measured here from outside.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from surefoot.arrays import Array, IntArray


def g_frank_wolfe(rows: Array, gap: float, seconds: float) -> tuple[Array, float, int]:
    """The G design by Frank-Wolfe on log det, with rank-one updates of all scores, until its true gap is reached.

    Args:
        rows: (n_pairs, dimension).
        gap: stop when max rᵀA⁻¹r ≤ (1 + gap) · dimension.
        seconds: or after this time.

    Returns:
        Weights, the gap reached, and the number of steps.
    """
    n, dimension = rows.shape
    weights = np.full(n, 1.0 / n)
    inverse = np.linalg.inv((rows.T * weights) @ rows)
    scores = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    end = time.perf_counter() + seconds
    for k in itertools.count(1):
        worst = int(np.argmax(scores))
        reached = float(scores[worst] / dimension - 1.0)
        if reached <= gap or time.perf_counter() > end:
            break
        step = 2.0 / (k + 2.0)
        direction = inverse @ rows[worst]
        cross = rows @ direction
        shrink = step / (1.0 - step)
        factor = shrink / (1.0 + shrink * scores[worst])
        scores = (scores - factor * cross**2) / (1.0 - step)
        inverse = (inverse - factor * np.outer(direction, direction)) / (1.0 - step)
        weights *= 1.0 - step
        weights[worst] += step
    return weights, reached, k


def robust_xy_frank_wolfe(
    pairs: Array, offsets: IntArray, change: float = 0.01, max_iterations: int = 10_000
) -> tuple[Array, float, int]:
    """The robust XY design (`eq:eq14`) as the paper finds it: follow the worst comparison with step 2/(k+2)."""
    n = len(pairs)
    weights, before = np.full(n, 1.0 / n), np.inf
    for k in range(1, max_iterations + 1):
        inverse = np.linalg.inv((pairs.T * weights) @ pairs)
        value, direction = _worst_comparison(pairs, offsets, inverse)
        if abs(before - value) < change * value:
            return weights, value, k
        before = value
        step = 2.0 / (k + 2.0)
        weights *= 1.0 - step
        weights[np.argmax((pairs @ (inverse @ direction)) ** 2)] += step
    return weights, before, max_iterations


def _worst_comparison(pairs: Array, offsets: IntArray, inverse: Array) -> tuple[float, Array]:
    gram = pairs @ inverse @ pairs.T
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
    arm = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    nearest = np.minimum.reduceat(squares, offsets[:-1], axis=1)
    nearest[np.arange(len(pairs)), arm] = -np.inf
    apex, rival = np.unravel_index(np.argmax(nearest), nearest.shape)
    inside = np.arange(offsets[rival], offsets[rival + 1])
    other = inside[np.argmin(squares[apex, inside])]
    return float(nearest[apex, rival]), pairs[apex] - pairs[other]
