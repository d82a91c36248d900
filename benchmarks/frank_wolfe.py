"""Frank-Wolfe with step 2/(k+2), which the paper uses for its designs: the baseline.

By itself it certifies nothing: the gap of what it returns is measured here from outside.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from surefoot.arrays import Array


def g_frank_wolfe(rows: Array, gap: float, seconds: float) -> tuple[Array, float, int]:
    """The G design by Frank-Wolfe on log det, with rank-one updates of all scores, until its true
    gap is reached.

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
