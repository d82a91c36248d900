"""The time that a study takes on some workers, by a simulated clock: nothing is simulated twice.

Workers take the pulls of the oldest phase first, as they do in a run. A phase can be pulled from
the moment when it was chosen; the study is over when the last phase that matters is complete.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from surefoot.algorithms import Algorithm, Result
from surefoot.arrays import Array
from surefoot.simulate import Simulator
from surefoot.statistics import Counts, Phase, charged
from surefoot.study.forecast import Lengths


class Took(NamedTuple):
    """The time that a study took.

    Attributes:
        seconds: until its answer.
        pulls: that were begun by then, those called off among them.
        spent: seconds of workers inside pulls until then.
        busy: the share of the workers' time that was spent inside pulls.
    """

    result: Result
    seconds: float
    pulls: int
    spent: float
    busy: float


class Timetable:
    """Begins and ends of pulls on some workers, which are all free at 0.

    Attributes:
        clock: when the last phase that was learnt from was complete.
    """

    def __init__(self, workers: int, lengths: Lengths) -> None:
        self.clock = 0.0
        self._free, self._lengths = [0.0] * workers, lengths
        self._begins: list[Array] = []
        self._ends: list[Array] = []

    @property
    def phases(self) -> int:
        """Phases that can be pulled, or were."""
        return len(self._ends)

    def begin(self, phase: Phase, generator: np.random.Generator) -> tuple[Counts, Array]:
        """Let workers pull a phase that is chosen now, in a random order.

        Returns:
            (n_pairs,) its pulls, and (n_pairs,) the sums of their lengths.
        """
        pairs = generator.permutation(np.repeat(np.arange(len(phase.counts)), phase.counts))
        begins, ends = np.empty((2, len(pairs)))
        lengths = self._lengths(pairs)
        for place, seconds in enumerate(lengths.tolist()):
            begins[place] = max(self._free[0], self.clock)
            ends[place] = begins[place] + seconds
            heapq.heapreplace(self._free, float(ends[place]))
        self._begins.append(begins)
        self._ends.append(ends)
        return charged(len(phase.counts), pairs, lengths)

    def end(self, phase: int) -> None:
        """Learn from a phase, once it is complete."""
        self.clock = max(self.clock, float(self._ends[phase].max(initial=0.0)))

    def took(self, result: Result) -> Took:
        """Return the time and pulls of a study that ends now."""
        if not self._ends:
            return Took(result, 0.0, 0, 0.0, 1.0)
        begins, ends = np.concatenate(self._begins), np.concatenate(self._ends)
        begun = begins < self.clock
        inside = float((np.minimum(ends, self.clock) - begins)[begun].sum())
        share = inside / (self.clock * len(self._free)) if self.clock else 1.0
        return Took(result, self.clock, int(begun.sum()), inside, share)


def timed(
    run: Algorithm,
    simulator: Simulator,
    workers: int,
    lengths: Lengths,
    generator: np.random.Generator,
) -> Took:
    """Run an algorithm to its end, and return its time on so many workers."""
    table = Timetable(workers, lengths)
    costs: list[tuple[Counts, Array]] = []
    while phase := run.next_phase():
        for each in run.flying[table.phases - phase.index :]:
            costs.append(table.begin(each, generator))
        table.end(phase.index)
        run.update(replace(simulator.pull(phase), charged=costs[phase.index]))
    return table.took(run.result)
