"""Majorise-minimise for the paper's criteria, where each block takes the smallest ratio over the rival's pairs."""

from __future__ import annotations

from surefoot.design.families import Vertices
from surefoot.design.types import FloatArray
from surefoot.design.working_set import Certified, WorkingSet, sparse, value_at

MAX_ROUNDS = 60


def descend(rows: FloatArray, family: Vertices, tolerance: float, hull: Certified) -> Certified:
    """From the hull relaxation's design go down to a design where no choice of the rivals' pairs improves.

    Fixing each block's choice at the current design gives a convex criterion that is above the true one and touches
    it there; each round minimises it on the working set, so the true value on that set never goes up.
    """
    working = WorkingSet(rows, family, tolerance, hull.weights)
    slow = 0
    for _ in range(MAX_ROUNDS):
        before = working.best.value
        working.round(0.3 * tolerance)
        slow = slow + 1 if working.best.value > before * (1.0 - 0.3 * tolerance) else 0
        if slow >= 3 or working.best.value <= hull.bound * (1.0 + tolerance):
            break
    found = working.best
    found.bound = hull.bound  # the bound for one fixed choice would not be valid here
    at_hull = value_at(rows, family, hull.weights)
    if at_hull < found.value:
        found.weights, found.value = hull.weights, at_hull
    return sparse(rows, family, found, tolerance)
