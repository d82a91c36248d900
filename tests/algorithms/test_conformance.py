"""One suite that every algorithm passes."""

from __future__ import annotations

from typing import Any

from surefoot.algorithms import PEERS, Algorithm
from surefoot.experiments.instances import Instance
from surefoot.noise import Noise
from surefoot.simulate import Family, LinearSimulator
from surefoot.testing import AlgorithmSuite
from tests.algorithms.families import NAMES, SPENDERS, ZONES, made_for, noise_for, simulated


def suite_of(name: str) -> type[AlgorithmSuite]:
    """The suite for the algorithm of that name."""

    class Suite(AlgorithmSuite):
        certifies = name not in ZONES + SPENDERS
        spends_budget = name in SPENDERS
        trust = "pairs" if name in PEERS else "model"

        def make(self, instance: Instance) -> Algorithm:
            return made_for(name, instance)

        def noise(self, scale: float = 1.0) -> Noise:
            return noise_for(name, scale)

        def simulator(
            self, instance: Instance, noise: Any = 1.0, seed: int = 0, family: Family = "gaussian"
        ) -> LinearSimulator:
            return simulated(name, instance, noise, seed, family)

    Suite.__name__ = Suite.__qualname__ = f"Test {name}"
    return Suite


globals().update({f"Test {name}": suite_of(name) for name in NAMES})
