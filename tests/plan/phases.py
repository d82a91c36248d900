"""A run of PRIME, driven phase by phase."""

from __future__ import annotations

import numpy as np

import surefoot as sf
from surefoot.arrays import Array
from surefoot.statistics import Outcome, Phase


def begun(problem: sf.RobustProblem, **options: object) -> sf.Prime:
    """A run in which nothing was pulled yet."""
    given = {"delta": 0.05, "noise": sf.Gaussian(1.0), "misfit": 0.0} | options
    return sf.Prime().start(problem, sf.Settings(**given))  # type: ignore[arg-type]


def asked(run: sf.Prime) -> Phase:
    """The next phase, which there is."""
    phase = run.next_phase()
    assert phase is not None
    return phase


def pairs_of(phase: Phase) -> np.ndarray:
    """(n_pulls,) the pair of each pull, in order."""
    return np.repeat(np.arange(len(phase.counts)), phase.counts)


def learnt(run: sf.Prime, rewards: Array) -> None:
    """Tell the (n_pulls,) rewards of the phase that was asked for."""
    phase = asked(run)
    run.update(Outcome.from_rewards(phase, len(phase.counts), pairs_of(phase), rewards))
