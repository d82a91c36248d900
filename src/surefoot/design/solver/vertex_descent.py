"""Majorise-minimise for the paper's criteria, the smallest ratios over rivals' pairs.

Fixing each block's choice at the current design gives a convex criterion that is above the true one
and touches it there; minimising it cannot make the true one worse. Where this ends depends on where
it begins.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.design.solver.families import Vertices
from surefoot.design.solver.sparsity import sparse, value_at
from surefoot.design.solver.working_set import Certified, WorkingSet

MAX_ROUNDS = 60
PATIENCE = 3  # rounds without progress: new blocks and rows may still come in
MANY_ROWS = 2_000  # above this, one start must do


def descend(rows: Array, family: Vertices, tolerance: float, hull: Certified) -> Certified:
    """The best design found from three starts: the relaxation's, halfway to uniform, afar.

    The lower bound is the relaxation's: a bound for one fixed choice would not be valid here.
    """
    best = Certified(hull.weights, value_at(rows, family, hull.weights), hull.bound, hull.rounds)
    for start in _starts(hull.weights):
        if best.value <= hull.bound * (1.0 + tolerance):
            break
        found = _from(rows, family, tolerance, start, hull.bound)
        if found.value < best.value:
            best.weights, best.value = found.weights, found.value
    return sparse(rows, family, best, tolerance)


def _starts(hull: Array) -> list[Array | None]:
    if hull.size > MANY_ROWS:
        return [hull]
    support = hull > 0.0
    return [hull, 0.5 * hull + 0.5 * support / np.count_nonzero(support), None]


def _from(
    rows: Array, family: Vertices, tolerance: float, start: Array | None, bound: float
) -> Certified:
    working = WorkingSet(rows, family, tolerance, start)
    slow = 0
    for _ in range(MAX_ROUNDS):
        before = working.best.value
        working.round(0.3 * tolerance)
        slow = slow + 1 if working.best.value > before * (1.0 - 0.3 * tolerance) else 0
        if slow >= PATIENCE or working.best.value <= bound * (1.0 + tolerance):
            break
    return working.best
