"""Contests between algorithms: the same work for each, with standard errors and errors counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.spread import spread
from surefoot.arrays import Array
from surefoot.experiments.comparison import Counted
from surefoot.paper.peers import PeerContender, Work

AT_ONCE = 20  # runs that a process takes at a time
SEED = 2026

Job = tuple[Work, PeerContender, int]


@dataclass(frozen=True)
class Cell:
    """What came of a contender's runs: pulls, their standard error, and wrong arms."""

    mean: float
    error: float
    wrong: int
    runs: int
    samples: Array = field(repr=False, compare=False)

    @classmethod
    def of(cls, runs: Sequence[Counted]) -> Cell:
        samples = np.array([run.samples for run in runs], dtype=np.float64)
        error = float(samples.std(ddof=1) / math.sqrt(len(runs))) if len(runs) > 1 else math.nan
        wrong = sum(not run.correct for run in runs)
        return cls(float(samples.mean()), error, wrong, len(runs), samples)

    @property
    def right(self) -> float:
        return 1 - self.wrong / self.runs

    @property
    def right_error(self) -> float:
        return math.sqrt(max(self.right * (1 - self.right), 1 / self.runs) / self.runs)

    def near(self, reference: float) -> bool:
        """Whether it is within 5 %."""
        return abs(self.mean - reference) <= 0.05 * reference

    def over(self, other: Cell) -> tuple[float, float]:
        """The ratio of two means, and its standard error; runs of one seed belong together."""
        ratio = self.mean / other.mean
        if self.runs != other.runs:
            return ratio, ratio * math.hypot(self.error / self.mean, other.error / other.mean)
        differences = self.samples / self.mean - other.samples / other.mean
        return ratio, ratio * float(differences.std(ddof=1)) / math.sqrt(self.runs)

    def __str__(self) -> str:
        return f"{self.mean:.0f} ± {self.error:.0f}; {self.wrong} of {self.runs} wrong"


@dataclass(frozen=True)
class Ratio:
    """Cells over others, one by one: the geometric mean of their ratios, and its standard error."""

    mean: float
    error: float
    each: tuple[float, ...]

    @classmethod
    def of(cls, cells: Sequence[Cell], others: Sequence[Cell]) -> Ratio:
        pairs = zip(cells, others, strict=True)
        ratios, errors = zip(*(cell.over(other) for cell, other in pairs), strict=True)
        mean = math.exp(float(np.mean(np.log(ratios))))
        relative = [error / ratio for error, ratio in zip(errors, ratios, strict=True)]
        return cls(mean, mean * math.hypot(*relative) / len(ratios), ratios)

    def __str__(self) -> str:
        each = ", ".join(f"{ratio:.2f}" for ratio in self.each)
        return f"{self.mean:.3f} ± {self.error:.3f} ({each})"


def held(jobs: Sequence[Job], first: int = 0) -> list[Cell]:
    """One cell for each (work, contender, number of runs), in this order.

    Args:
        first: of the runs, where earlier ones were used for something else.
    """
    parts = [
        (work, contender, first + begin, first + min(begin + AT_ONCE, runs))
        for work, contender, runs in jobs
        for begin in range(0, runs, AT_ONCE)
    ]
    done = iter(spread(run_some, parts))
    return [
        Cell.of([run for _ in range(0, runs, AT_ONCE) for run in next(done)]) for _, _, runs in jobs
    ]


def run_some(work: Work, contender: PeerContender, begin: int, end: int) -> list[Counted]:
    """These runs of one contender; the k-th run of every contender has the same seed."""
    problem = work.problem()
    return [
        contender.run(work, problem, np.random.SeedSequence(SEED, spawn_key=(k,)))
        for k in range(begin, end)
    ]
