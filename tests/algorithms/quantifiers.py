"""The paper's rules written with its quantifiers, pair by pair: slow, and nothing else in common
with the package.
"""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.problem.problem import RobustProblem


def beats(
    problem: RobustProblem, theta: Array, A: Array, c: float, winner: int, loser: int, strict: bool
) -> bool:
    """∀ y of the winner ∃ y' of the loser: c‖v‖_{A⁻¹} ≤ vᵀθ, v = winner − y − (loser − y')."""
    inverse = np.linalg.inv(A)

    def clear(v: Array) -> bool:
        width = c * np.sqrt(v @ inverse @ v)
        return bool(width < v @ theta if strict else width <= v @ theta)

    return all(
        any(clear(z - z_) for z_ in problem.pairs[problem.pairs_of(loser)])
        for z in problem.pairs[problem.pairs_of(winner)]
    )


def winners(problem: RobustProblem, theta: Array, A: Array, c: float) -> list[int]:
    """List the arms that beat every other (`eq:11`)."""
    arms = range(problem.n_arms)
    return [
        x
        for x in arms
        if all(beats(problem, theta, A, c, x, other, strict=False) for other in arms if other != x)
    ]


def clearance(problem: RobustProblem, theta: Array, A: Array, winner: int, loser: int) -> float:
    """The largest c at which the winner beats the loser."""
    inverse = np.linalg.inv(A)
    return min(
        max(
            float((z - z_) @ theta / np.sqrt((z - z_) @ inverse @ (z - z_)))
            for z_ in problem.pairs[problem.pairs_of(loser)]
        )
        for z in problem.pairs[problem.pairs_of(winner)]
    )
