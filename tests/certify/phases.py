"""Phases drawn pull by pull, in which pairs differ in noise and in number of pulls."""

from __future__ import annotations

import numpy as np

from surefoot.arrays import Array
from surefoot.statistics import Outcome, Phase

LEVEL = 1e-3  # of tests that a right program fails once in a thousand seeds; the seeds are fixed


def drawn(
    rng: np.random.Generator, phase: Phase, scales: Array, means: Array | float = 0.0
) -> Outcome:
    """An outcome of normal rewards."""
    pairs = np.repeat(np.arange(len(scales)), phase.counts)
    rewards = np.broadcast_to(means, len(scales))[pairs]
    rewards = rewards + scales[pairs] * rng.standard_normal(len(pairs))
    return Outcome.from_rewards(phase, len(scales), pairs, rewards)
