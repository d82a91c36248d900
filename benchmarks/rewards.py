"""Simulators that draw every reward: what noise can be that is neither normal nor 0 or 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.statistics import Outcome, Phase

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(eq=False)
class Rewards:
    """Rewards of each pair from a distribution of its own, pull by pull.

    Attributes:
        draws: one function per pair that gives this many rewards.
        generator: where all of them come from.
    """

    draws: list[Draw]
    generator: np.random.Generator

    def pull(self, phase: Phase) -> Outcome:
        drawn = [
            draw(self.generator, int(n)) for draw, n in zip(self.draws, phase.counts, strict=True)
        ]
        pairs = np.repeat(np.arange(len(self.draws)), phase.counts)
        return Outcome.from_rewards(phase, len(self.draws), pairs, np.concatenate(drawn))


def normal(mean: float = 0.0, scale: float = 1.0) -> Draw:
    return lambda rng, n: mean + scale * rng.standard_normal(n)


def exponential(mean: float = 0.0, sign: float = 1.0) -> Draw:
    """Standard deviation 1, skewness 2 with the sign."""
    return lambda rng, n: mean + sign * (rng.standard_exponential(n) - 1)


def log_normal(mean: float = 0.0, sign: float = 1.0) -> Draw:
    """Standard deviation 1, skewness 6.2 with the sign."""
    centre, size = np.exp(0.5), np.sqrt((np.e - 1) * np.e)
    return lambda rng, n: mean + sign * (np.exp(rng.standard_normal(n)) - centre) / size


def disasters(mean: float = 0.0, sign: float = -1.0) -> Draw:
    """Normal, but in 1 of 100 pulls 10 standard deviations off: skewness 3.5 with the sign."""

    def draw(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        return mean + rng.standard_normal(n) + sign * 10 * ((rng.random(n) < 0.01) - 0.01)

    return draw


def falls(chance: float, noise: float = 0.0) -> Draw:
    """Mean 0 and standard deviation 1 but for `noise`: only falls, which come with this chance."""
    size = 1 / np.sqrt(chance * (1 - chance))

    def draw(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        fallen = size * (chance - (rng.random(n) < chance))
        return fallen + noise * rng.standard_normal(n) if noise else fallen

    return draw


def coin(mean: float) -> Draw:
    return lambda rng, n: (rng.random(n) < mean).astype(np.float64)


def beta(mean: float, weight: float = 1.0) -> Draw:
    """Between 0 and 1, mostly near the ends."""
    return lambda rng, n: rng.beta(mean * weight, (1 - mean) * weight, n)


def rarely(mean: float, usual: float, other: float) -> Draw:
    """The usual value, or seldom the other one, so that this is the mean."""
    chance = (mean - usual) / (other - usual)
    return lambda rng, n: np.where(rng.random(n) < chance, other, usual)
