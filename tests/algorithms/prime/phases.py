"""One phase of a course, outside of any run."""

from __future__ import annotations

import numpy as np

from surefoot.algorithms.prime.course import Course, Layout
from surefoot.algorithms.tally import Tally
from surefoot.arrays import Array
from surefoot.statistics import Outcome, Phase


def pairs_of(layout: Layout) -> np.ndarray:
    """(n_pulls,) the pair of each pull, in order."""
    return np.repeat(np.arange(len(layout.counts)), layout.counts)


def learnt(course: Course, tally: Tally, layout: Layout, rewards: Array) -> Tally:
    """Let the course learn the (n_pulls,) rewards of a phase; gives the tally after it."""
    phase = Phase(0, layout.counts, layout.batches, layout.shared)
    outcome = Outcome.from_rewards(phase, len(layout.counts), pairs_of(layout), rewards)
    tally = tally.after(outcome)
    course.learn(tally, phase, outcome)
    return tally
