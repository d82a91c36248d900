"""Which setting really has the best worst case: every pair simulated until the winner is clear, or
the tie is named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from surefoot.arrays import Array, IntArray
from surefoot.paper.bolus.problem import Dosing, branch, day_rewards

REPLICATES = (300, 1500, 6000)  # of every pair; then of those that can still matter
ERROR = 0.05


@dataclass(frozen=True, eq=False)
class Truth:
    """What exhaustive simulation says.

    Attributes:
        means: (n_pairs,) mean rewards.
        deviations: (n_pairs,) standard deviations of single rewards.
        replicates: (n_pairs,) simulated pulls.
        values: (n_arms,) mean reward of each arm's worst pair.
        worst_pairs: (n_arms,) where it is worst.
        best: the arm of the highest value.
        tied: the arms that may still be the best one, with 95 % confidence (normal approximation,
            all pairs and looks at once); `best` alone where the winner is clear.
    """

    means: Array
    deviations: Array
    replicates: IntArray
    values: Array
    worst_pairs: IntArray
    best: int
    tied: IntArray

    def regret(self, arm: int) -> float:
        """How much worse the arm's worst case is than the best arm's."""
        return float(self.values[self.best] - self.values[arm])


def find_truth(
    dosing: Dosing, source: np.random.SeedSequence, replicates: tuple[int, ...] = REPLICATES
) -> Truth:
    """Simulate all pairs; then, more and more often, those pairs of the arms in contention that may
    be the worst.
    """
    problem = dosing.linear
    rewards = [np.empty(0) for _ in range(problem.n_pairs)]
    width = float(-special.ndtri(ERROR / (2 * problem.n_pairs * len(replicates))))
    chosen = np.arange(problem.n_pairs)
    for stage, total in enumerate(replicates):
        _extend(dosing, rewards, chosen, total, branch(source, stage))
        means = np.array([values.mean() for values in rewards])
        deviations = np.array([values.std(ddof=1) for values in rewards])
        counts = np.array([len(values) for values in rewards])
        margin = width * deviations / np.sqrt(counts)
        floors, ceilings = problem.worst_of(means - margin), problem.worst_of(means + margin)
        # as good as the arm that is surely good, perhaps
        tied = np.flatnonzero(ceilings >= floors.max())
        if len(tied) == 1:
            break
        may_be_worst = means - margin <= ceilings[problem.arm_of_pair]
        chosen = np.flatnonzero(np.isin(problem.arm_of_pair, tied) & may_be_worst)
    values = problem.worst_of(means)
    worst = problem.worst_pairs_of(means)
    return Truth(means, deviations, counts, values, worst, int(np.argmax(values)), tied)


def _extend(
    dosing: Dosing,
    rewards: list[Array],
    chosen: IntArray,
    total: int,
    source: np.random.SeedSequence,
) -> None:
    """Simulate the chosen pairs until each has `total` rewards."""
    missing = np.array([max(total - len(rewards[pair]), 0) for pair in chosen])
    pairs = np.repeat(chosen, missing)
    fresh = day_rewards(dosing, pairs, source).sum(axis=0)
    for pair, values in zip(chosen.tolist(), np.split(fresh, np.cumsum(missing)[:-1]), strict=True):
        rewards[pair] = np.concatenate([rewards[pair], values])
