"""What many runs of a study say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms import Settings, StopReason
from surefoot.arrays import Array, IntArray
from surefoot.experiments.macroreplication.truth import Truth
from surefoot.problem.problem import RobustProblem
from surefoot.proportions import Proportion

if TYPE_CHECKING:
    import pandas as pd

REFUTED = 1e-3  # p-value below which "wrong in at most a share delta" is given up


@dataclass(frozen=True, eq=False)
class Macroreplications:
    """The answers of many independent runs of one study.

    Attributes:
        truth: what they are held against.
        arms: (n_runs,) the arm that each run gave.
        certified: (n_runs,) whether it was certified.
        pulls: (n_runs,) what it took.
        reasons: why each run stopped.
    """

    problem: RobustProblem
    settings: Settings
    truth: Truth
    arms: IntArray
    certified: NDArray[np.bool_]
    pulls: IntArray
    reasons: tuple[str, ...]

    @property
    def right(self) -> Proportion:
        """Runs that gave the best arm, certified or not."""
        return self._share(self.arms == self.truth.best)

    @property
    def good(self) -> Proportion:
        """Runs that gave the best arm or one that is as good within the tolerance."""
        return self.good_within(self.settings.tolerance)

    def good_within(self, distance: float) -> Proportion:
        """Runs that gave the best arm or one that is as good within this distance."""
        return self._share(self.truth.within(distance)[self.arms])

    @property
    def sure(self) -> Proportion:
        """Runs that ended with a certificate."""
        return self._share(self.certified)

    @property
    def certified_and_wrong(self) -> Proportion:
        """Runs whose certificate was false: delta is the most that this may be."""
        return self._share(self.certified & ~self._good)

    @property
    def refuted(self) -> bool:
        """Whether there were more false certificates than delta and chance explain."""
        return self.certified_and_wrong.excess(self.settings.delta) < REFUTED

    @property
    def mean_pulls(self) -> float:
        return float(self.pulls.mean())

    @property
    def pulls_range(self) -> tuple[float, float]:
        """From what one run in ten stayed below, to what one in ten exceeded."""
        low, high = np.quantile(self.pulls, [0.1, 0.9])
        return float(low), float(high)

    def to_frame(self) -> pd.DataFrame:
        """One row per run."""
        import pandas as pd

        return pd.DataFrame(
            {
                "run": np.arange(len(self.arms)),
                "arm": [self.problem.arm_names[arm] for arm in self.arms],
                "right": self.arms == self.truth.best,
                "good": self._good,
                "certified": self.certified,
                "pulls": self.pulls,
                "reason": self.reasons,
            }
        )

    def __str__(self) -> str:
        low, high = self.pulls_range
        near = self.settings.tolerance
        lines = [
            f"best: {self.problem.arm_names[self.truth.best]} ({self.truth.source})",
            f"right: {self.right}",
            *([f"good within {near:g}: {self.good}"] if near else []),
            *(self._certificates if self._may_certify else []),
            f"pulls: {self.mean_pulls:,.0f} on average, from {low:,.0f} to {high:,.0f} in 80 % "
            "of the runs",
        ]
        return "\n".join(lines)

    @property
    def _may_certify(self) -> bool:
        """Whether a run could have ended with a certificate: some procedures never do."""
        return not all(StopReason[reason].never_certifies for reason in self.reasons)

    @property
    def _certificates(self) -> list[str]:
        allowed = f"at most {100 * self.settings.delta:g} % are allowed"
        refuted = ": refuted" if self.refuted else ""
        return [
            f"certified: {self.sure}",
            f"certified and wrong: {self.certified_and_wrong}; {allowed}{refuted}",
        ]

    @property
    def _good(self) -> NDArray[np.bool_]:
        return np.asarray(self.truth.within(self.settings.tolerance)[self.arms])

    def _share(self, runs: Array | NDArray[np.bool_]) -> Proportion:
        return Proportion(int(runs.sum()), len(self.arms))
