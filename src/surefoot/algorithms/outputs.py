"""Outputs beside the objective: what is known of them, and what they come to against a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array
from surefoot.limits import Limit
from surefoot.problem.problem import RobustProblem


@dataclass(frozen=True, eq=False)
class OutputEstimate:
    """The estimates of one output, in its own unit and sign.

    Attributes:
        means: (n_pairs,) means of what came; NaN where there is none.
        lower, upper: (n_pairs,) ends of intervals that hold the means of all pairs at all looks at
            once with probability ≥ 1 − delta; infinite where nothing is known.
        errors: (n_pairs,) standard errors of the means; NaN where they are not known.
    """

    means: Array
    lower: Array
    upper: Array
    errors: Array


class AgainstLimit(NamedTuple):
    """The values of all arms that a limit is held against, in the unit of the output.

    Attributes:
        limit: the limit.
        values: (n_arms,) estimates, by the limit's own measure.
        lower, upper: (n_arms,) ends of simultaneous intervals.
    """

    limit: Limit
    values: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, limit: Limit, estimate: OutputEstimate, problem: RobustProblem) -> AgainstLimit:
        """Return what the pairs' means come to: the worst case is on the side of the limit."""
        points, sign = limit.measure.points(problem), limit.sign

        def value(means: Array) -> Array:
            return np.asarray(sign * points.values_of(sign * means))

        ends = (value(estimate.lower), value(estimate.upper))
        if limit.noise.limits is not None:
            ends = (np.clip(ends[0], *limit.noise.limits), np.clip(ends[1], *limit.noise.limits))
        return cls(limit, value(estimate.means), *ends)
