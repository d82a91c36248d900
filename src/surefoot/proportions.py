"""Shares of runs, each with an interval that is exact at any number of runs."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

from surefoot.errors import InputError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Proportion:
    """The number of independent runs that had a property, out of all.

    Attributes:
        count: of the runs that had it.
        runs: all of them.
    """

    count: int
    runs: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.runs or self.runs < 1:
            raise InputError(
                f"{self.count} of {self.runs} is no proportion: give a count from 0 to the number "
                "of runs, and 1 run or more"
            )

    @property
    def share(self) -> float:
        return self.count / self.runs

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the Clopper–Pearson interval: it holds the true share with at least this
        confidence.
        """
        tail = (1 - confidence) / 2
        low = stats.beta.ppf(tail, self.count, self.runs - self.count + 1) if self.count else 0.0
        left = self.runs - self.count
        high = stats.beta.ppf(1 - tail, self.count + 1, left) if left else 1.0
        return float(low), float(high)

    def excess(self, allowed: float) -> float:
        """Return the p-value of "the true share is at most this": exact, binomial."""
        return float(stats.binom.sf(self.count - 1, self.runs, allowed))

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.count} of {self.runs}, {100 * self.share:.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f} %)"
        )
