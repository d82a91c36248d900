"""PRIME with a linear model, beside figures that others published for theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.contests import held
from benchmarks.table import Row
from surefoot.algorithms import Algorithm
from surefoot.experiments.instances import Instance, classic, on_sphere
from surefoot.experiments.peers.contest import Run
from surefoot.noise import Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify

PUBLISHED = {  # FWS, LinGame: mean samples on the classic instance, d = 6, ω = 0.1
    0.1: (1_030, 2_319),
    0.01: (1_614, 3_431),
    0.001: (2_229, 4_326),
    0.0001: (2_839, 5_120),
}
MOST = 1_000_000  # pulls: a run that has lost the best arm may be left with exact ties
MANY_ARMS = 29_900  # LinGapE with a heuristic threshold, the best published


@dataclass(frozen=True)
class Modelled:
    """Work that a linear model describes, with unit noise."""

    instance: Instance
    delta: float

    def problem(self) -> RobustProblem:
        return self.instance[0]


@dataclass(frozen=True)
class Modelling:
    """An algorithm that trusts the model."""

    algorithm: str | Algorithm = "prime"

    def run(self, work: Modelled, problem: RobustProblem, seed: np.random.SeedSequence) -> Run:
        theta = work.instance[1]
        simulator = LinearSimulator(problem, theta, seed=seed)
        settings = {"delta": work.delta, "noise": Gaussian(1.0), "budget": MOST}
        result = identify(problem, simulator, self.algorithm, **settings)
        return Run(result.samples, result.certified, result.arm == problem.best_arm(theta))


def linear_rows(runs: int) -> Iterator[Row]:
    for delta, (fws, lingame) in PUBLISHED.items():
        published = f"published: FWS {fws}, LinGame {lingame}"
        yield _row(f"classic, d = 6, δ = {delta:g} ({published})", classic(6), delta, runs, fws)
    published = f"published best, LinGapE, heuristic: {MANY_ARMS}"
    yield _row(f"50 arms, d = 20, δ = 0.01 ({published})", fifty_arms(), 0.01, runs, MANY_ARMS)


def _row(work: str, instance: Instance, delta: float, runs: int, published: int) -> Row:
    (cell,) = held([(Modelled(instance, delta), Modelling(), runs)])
    return Row(f"{work}: PRIME", str(cell), f"≤ {published}", cell.mean <= published)


def fifty_arms() -> Instance:
    """e₁ … e₁₀ and forty random unit arms of mean at most 0.5, in twenty dimensions."""
    generator = np.random.default_rng(2026)
    theta = np.concatenate([[1.0], [0.9] * 4, [0.8] * 5, generator.uniform(-1, 0, 10)])
    arms = list(np.eye(20)[:10])
    while len(arms) < 50:
        arm = on_sphere(generator, 1, 20)[0]
        if arm @ theta <= 0.5:
            arms.append(arm)
    return RobustProblem(np.array(arms), [np.zeros((1, 20))] * 50), theta
