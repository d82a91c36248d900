"""Design: how to share the pulls among the pairs, how good that is, and the proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surefoot.arrays import Array, IntArray


@dataclass(frozen=True, eq=False)
class Design:
    """A share of the pulls for each pair, with a proof of its quality.

    Attributes:
        weights: (n_pairs,) non-negative, sums to 1, exact zeros off the support.
        value: the criterion at these weights; smaller is better.
        lower_bound: no weights whatever have a criterion below this.
    """

    weights: Array
    value: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """By what fraction the value can exceed the best possible one."""
        if self.value == self.lower_bound:
            return 0.0
        return self.value / self.lower_bound - 1.0 if self.lower_bound > 0 else math.inf

    @cached_property
    def support(self) -> IntArray:
        """Indices of the pairs that are pulled at all."""
        return np.flatnonzero(self.weights).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Design(value={self.value:.6g}, lower_bound={self.lower_bound:.6g}, "
            f"gap={self.gap:.2g}, support={self.support.size} of {self.weights.size} pairs)"
        )
