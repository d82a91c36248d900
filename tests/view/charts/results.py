"""Results to draw: few arms, many arms, none yet, one that minimises, and one whose evidence is
infinite.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from surefoot import Gaussian, LinearSimulator, Result, RobustProblem, Settings, identify
from surefoot.algorithms import algorithm_from

EVIL = "<script>alert(1)</script>"
WINGS = ["narrow", "wide", "swept", "delta", "canard", "biplane", EVIL]
WEATHER = ["gust", "icing", "heavy load", "hot day"]


@cache
def wings() -> tuple[RobustProblem, np.ndarray]:
    generator = np.random.default_rng(5)
    arms = generator.normal(size=(len(WINGS), 3))
    perturbations = [0.4 * generator.normal(size=(len(WEATHER), 3)) for _ in arms]
    problem = RobustProblem.paper(
        arms, perturbations, arm_names=WINGS, perturbation_names=[WEATHER] * len(WINGS)
    )
    return problem, 0.15 * generator.normal(size=3)


@cache
def finished(algorithm: str = "prime") -> Result:
    problem, theta = wings()
    simulator = LinearSimulator(problem, theta, noise=1.0, seed=1)
    return identify(
        problem, simulator, algorithm=algorithm, delta=0.05, noise=Gaussian(1.0), misfit=0
    )


@cache
def many() -> Result:
    generator = np.random.default_rng(6)
    arms = generator.normal(size=(300, 4))
    problem = RobustProblem.paper(arms, [0.1 * generator.normal(size=(2, 4)) for _ in arms])
    theta = 0.1 * generator.normal(size=4)
    return identify(
        problem,
        LinearSimulator(problem, theta, noise=1.0, seed=2),
        algorithm="prime",
        delta=0.05,
        noise=Gaussian(1.0),
        misfit=0,
        budget=200,
    )


def fresh() -> Result:
    return (
        algorithm_from("prime")
        .start(wings()[0], Settings(delta=0.05, noise=Gaussian(), misfit=0))
        .result
    )
