"""What the right answer is: told by the user, or by the rewards of all runs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms import Settings
from surefoot.algorithms.fitting import least_squares
from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem


@dataclass(frozen=True, eq=False)
class Truth:
    """The arm that should have been found, and how good each arm is.

    Attributes:
        best: the arm.
        values: (n_arms,) worst cases, larger is better.
        source: where that comes from, in words.
    """

    best: int
    values: Array
    source: str

    def within(self, tolerance: float) -> NDArray[np.bool_]:
        """(n_arms,) which arms are the best one, or as good within the tolerance."""
        good = self.values >= self.values[self.best] - tolerance
        good[self.best] = True
        return np.asarray(good)

    def told(self, problem: RobustProblem, name: str) -> Truth:
        """The same values, with the best arm that the user names."""
        if name not in problem.arm_names:
            arms = ", ".join(map(repr, problem.arm_names))
            raise InputError(f"there is no arm {name!r}: the arms are {arms[:400]}")
        return Truth(problem.arm_names.index(name), self.values, "as it was given")


def true_means(problem: RobustProblem, means: Array) -> Truth:
    """The truth where every pair's mean is known."""
    values = problem.worst_of(means)
    return Truth(int(values.argmax()), values, "known: the rewards are simulated")


def pooled(
    problem: RobustProblem, settings: Settings, counts: Sequence[IntArray], sums: Sequence[Array]
) -> Truth:
    """The truth by the rewards of all runs together.

    Sums and counts are pooled before they are divided: that has no bias in the limit, however each
    run chose its pulls. Pairs that no run pulled say nothing where no model is trusted.
    """
    pulls, total = np.sum(counts, axis=0), np.sum(sums, axis=0)
    if settings.modelled:
        scales = settings.noise.scales(problem.n_pairs)
        means = problem.pairs @ least_squares(problem.pairs / scales[:, None], pulls, total, scales)
    else:
        means = np.where(pulls > 0, total / np.maximum(pulls, 1), np.inf)
    values = problem.worst_of(means)
    values[~np.isfinite(values)] = -np.inf  # an arm that nobody ever pulled
    unpulled = int((pulls == 0).sum())
    left_out = f", without {unpulled} pairs that no run pulled" if unpulled else ""
    source = f"by the {int(pulls.sum()):,} rewards of all runs together{left_out}"
    return Truth(int(values.argmax()), values, source)
