"""Who takes part in the synthetic experiments, and one run of each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.algorithms import Algorithm, algorithm_from
from surefoot.experiments.instances import Instance
from surefoot.noise import Gaussian, Noise, SubGaussian
from surefoot.simulate import LinearSimulator, identify

DELTA = 0.05
NOISE: dict[str, Noise] = {
    "Gaussian": Gaussian(1.0),
    "sub-Gaussian": SubGaussian(1.0),
    "unknown scale": Gaussian(equal=True),
}


@dataclass(frozen=True)
class Run:
    """One run of a contender: who, with which noise, and what came of it."""

    label: str
    algorithm: str
    policy: str
    knows: str
    seed: int
    samples: int
    certified: bool
    correct: bool
    seconds: float


@dataclass(frozen=True)
class Contender:
    """An algorithm under a policy.

    Attributes:
        label: for tables and figures; with the policy it tells all contenders apart.
        knows: what it is told about the noise, which always is standard normal.
    """

    label: str
    algorithm: str
    policy: Literal["paper", "valid"]
    knows: str = "Gaussian"

    def made(self, instance: Instance) -> Algorithm:
        return algorithm_from(
            self.algorithm, **({"theta": instance[1]} if self.algorithm == "oracle" else {})
        )

    def run(self, instance: Instance, seed: int) -> Run:
        """Run once, with the noise of this seed."""
        problem, theta = instance
        simulator = LinearSimulator(
            problem, theta, seed=np.random.SeedSequence(seed, spawn_key=(1,))
        )
        begun = time.perf_counter()
        result = identify(
            problem,
            simulator,
            self.made(instance),
            delta=DELTA,
            noise=NOISE[self.knows],
            confidence=self.policy,
            misfit=0.0,
            on_misfit="ignore",
        )
        return Run(
            label=self.label,
            algorithm=self.algorithm,
            policy=self.policy,
            knows=self.knows,
            seed=seed,
            samples=result.samples,
            certified=result.certified,
            correct=result.arm == problem.best_arm(theta),
            seconds=time.perf_counter() - begun,
        )


ORACLE = Contender("Oracle", "oracle", "paper")
STATIC = Contender("Robust Static", "robust-static", "paper")
RAGE = Contender("Robust RAGE", "robust-rage", "paper")
CONTENDERS = (
    ORACLE,
    STATIC,
    RAGE,
    Contender("Oracle", "oracle", "valid"),
    Contender("Robust Static", "robust-static", "valid"),
    Contender("Robust RAGE", "robust-rage", "valid"),
    Contender("PRIME", "prime", "valid"),
    Contender("PRIME, sub-Gaussian", "prime", "valid", "sub-Gaussian"),
    Contender("PRIME, unknown scale", "prime", "valid", "unknown scale"),
)
