"""The number of samples below which no algorithm can be on average."""

from __future__ import annotations

from surefoot.design import exact_separation
from surefoot.design.hardness import binary_divergence
from surefoot.experiments.instances import Instance

TOLERANCE = 0.1  # of the design; the bound is proved whatever it is, and at most this much too low


def lower_bound(instance: Instance, delta: float) -> float:
    """2 kl(δ, 1 − δ) H*, at the proven lower end of H*."""
    problem, theta = instance
    design = exact_separation(
        problem.pairs,
        problem.offsets,
        problem.reduced(theta),
        problem.best_arm(theta),
        tolerance=TOLERANCE,
    )
    return 2.0 * binary_divergence(delta) * design.lower_bound
