"""How many samples anybody needs who promises an arm that is good to within a tolerance."""

from __future__ import annotations

import numpy as np

from surefoot.design.hardness import binary_divergence
from surefoot.design.separation import exact_separation
from surefoot.paper.peers.contest import Contest

CLOSE = 1e-3  # how far the proven lower end of H* may be from the best design found


def lower_bound(contest: Contest, tolerance: float) -> float:
    """2 kl(δ, 1 − δ) H*, where H* is that of the means with the best arm raised by the tolerance.

    The answer is wrong only where another arm is ahead of it by more than the tolerance. Such means
    are as far from the true ones as means with another best arm are from these raised ones. It
    holds where no other arm is good to within the tolerance.
    """
    problem, scales = contest.problem(), np.broadcast_to(contest.scales, contest.means.shape)
    raised = contest.means.copy()
    raised[contest.best] += tolerance
    design = exact_separation(
        problem.pairs,
        problem.offsets,
        problem.reduced(raised.ravel()),
        contest.best,
        rows=problem.pairs / scales.reshape(-1, 1),
        tolerance=CLOSE,
    )
    return 2.0 * binary_divergence(contest.delta) * design.lower_bound
