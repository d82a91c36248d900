"""What a parameter θ says of grouped pairs: their means, each arm's worst case, the best arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.grouping import finite
from surefoot.problem.groups import Groups


class LinearRewards(Groups):
    """Pairs whose mean rewards are linear in their features.

    Attributes:
        features: (n_pairs, n_features).
        pairs: (n_pairs, dimension) the features in a basis of their span, so of full column rank.
    """

    features: Array
    pairs: Array

    @property
    def dimension(self) -> int:
        """The rank of the features: how many numbers have to be learnt."""
        return int(self.pairs.shape[1])

    def pair_means(self, theta: ArrayLike) -> Array:
        """(n_pairs,) mean rewards under θ, given for the features or for their reduced basis."""
        parameter = finite(theta, "theta")
        if parameter.shape == (self.features.shape[1],):
            return np.asarray(self.features @ parameter)
        if parameter.shape == (self.dimension,):
            return np.asarray(self.pairs @ parameter)
        raise InputError(
            f"theta has shape {parameter.shape}, but the features have {self.features.shape[1]} "
            f"columns (rank {self.dimension}): give one number per column"
        )

    def robust_values(self, theta: ArrayLike) -> Array:
        """(n_arms,) each arm's mean reward under its worst perturbation."""
        return self.worst_of(self.pair_means(theta))

    def worst_pairs(self, theta: ArrayLike) -> IntArray:
        """(n_arms,) the pair at which each arm is worst under θ."""
        return self.worst_pairs_of(self.pair_means(theta))

    def best_arm(self, theta: ArrayLike) -> int:
        """The arm whose worst case is best under θ; the first of several."""
        return int(np.argmax(self.robust_values(theta)))

    def robust_gaps(self, theta: ArrayLike) -> Array:
        """(n_arms,) how far each robust value is below the best; for the best, above the second."""
        values = self.robust_values(theta)
        best = int(np.argmax(values))
        gaps = np.asarray(values[best] - values)
        gaps[best] = np.delete(gaps, best).min() if self.n_arms > 1 else np.inf
        return gaps

    def reduced(self, theta: ArrayLike) -> Array:
        """(dimension,) the θ of the reduced basis with the same mean rewards."""
        solution, *_ = np.linalg.lstsq(self.pairs, self.pair_means(theta), rcond=None)
        return np.asarray(solution)
