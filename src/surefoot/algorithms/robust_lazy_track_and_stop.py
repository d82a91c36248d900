"""Robust Lazy Track-and-Stop (Jedra and Proutiere, 2020): weights renewed now and then.

The weights of `exact_separation` at the estimate are followed until the pulls have doubled, and
exploration is forced only while some direction has less information than √t. It stops as Robust
Track-and-Stop does, with the same proof of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surefoot.algorithms.fitting import information
from surefoot.algorithms.robust_track_and_stop import RobustTrackAndStop


@dataclass(eq=False)
class RobustLazyTrackAndStop(RobustTrackAndStop):
    """Follow weights that are renewed when the pulls have doubled; explore where it must be.

    Attributes:
        growth: by which the pulls grow from look to look.
        renewal: by which the pulls grow until the weights are worked out again.
    """

    renewal: float = 2.0
    name: ClassVar[str] = "robust-lazy-track-and-stop"

    def begin(self) -> None:
        super().begin()
        self.renewed, self.weights = 0, self.spread

    def want(self, pulls: int) -> None:
        if self.samples >= self.renewal * self.renewed:
            self.renewed, self.weights = self.samples, self._weights()
        seen = information(self.measured, self.tally.counts)
        least = float(np.linalg.eigvalsh(seen)[0])
        design = information(self.measured, self.spread)
        enough = float(np.linalg.eigvalsh(design)[0]) * math.sqrt(self.samples)
        self.wanted += pulls * (self.weights if least >= enough else self.spread)
