"""PRIME with a linear model, beside figures that others published for theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.contests import held
from benchmarks.table import Row
from benchmarks.table import published as shown
from surefoot.algorithms import Algorithm
from surefoot.experiments.comparison import Counted
from surefoot.experiments.instances import Instance, classic, on_sphere
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify

# mean samples of 1 000 runs on the classic instance, d = 6, ω = 0.1: Wang, Tzeng and Proutiere,
# Fast pure exploration via Frank-Wolfe, 2021, table 1 (BC is FWS, Lk-C LinGame, LT and LT-H Lazy
# Track-and-Stop with the threshold of its paper, and with a modified one)
OTHERS = ("FWS", "LinGame", "Lazy Track-and-Stop", "with a modified threshold")
PUBLISHED = {
    0.1: (1_030, 2_319, 7_651, 3_319),
    0.01: (1_614, 3_431, 8_290, 3_907),
    0.001: (2_229, 4_326, 8_952, 4_527),
    0.0001: (2_839, 5_120, 9_575, 5_120),
}
MOST = 1_000_000  # pulls: a run that has lost the best arm may be left with exact ties
# of 100 runs on fifty arms, the best of three variants of each, heuristic thresholds: Tirinzoni and
# Degenne, On elimination strategies for bandit fixed-confidence identification, 2022, table 1
MANY_ARMS = {"LinGapE": 29_890, "LinGame": 32_490, "FWS": 32_620, "Lazy Track-and-Stop": 64_480}


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

    def run(self, work: Modelled, problem: RobustProblem, seed: np.random.SeedSequence) -> Counted:
        theta = work.instance[1]
        simulator = LinearSimulator(problem, theta, seed=seed)
        settings = {"delta": work.delta, "noise": Gaussian(1.0), "misfit": 0.0, "budget": MOST}
        result = identify(problem, simulator, self.algorithm, **settings)
        return Counted.of(result, problem.best_arm(theta))


def linear_rows(runs: int) -> Iterator[Row]:
    for delta, figures in PUBLISHED.items():
        if not shown(f"δ = {delta:g}", "^δ = 0.1$"):
            continue
        published = dict(zip(OTHERS, figures, strict=True))
        yield _row(f"classic, d = 6, δ = {delta:g}", classic(6), delta, runs, published)
    yield _row("50 arms, d = 20, δ = 0.01", fifty_arms(), 0.01, runs, MANY_ARMS)


def _row(work: str, instance: Instance, delta: float, runs: int, published: dict[str, int]) -> Row:
    (cell,) = held([(Modelled(instance, delta), Modelling(), runs)])
    others = ", ".join(f"{name} {samples}" for name, samples in published.items())
    best = min(published.values())
    return Row(f"{work} (published: {others}): PRIME", str(cell), f"≤ {best}", cell.mean <= best)


def fifty_arms() -> Instance:
    """e₁ … e₁₀ and forty random unit arms of mean at most 0.5, in twenty dimensions."""
    generator = np.random.default_rng(2026)
    theta = np.concatenate([[1.0], [0.9] * 4, [0.8] * 5, generator.uniform(-1, 0, 10)])
    arms = list(np.eye(20)[:10])
    while len(arms) < 50:
        arm = on_sphere(generator, 1, 20)[0]
        if arm @ theta <= 0.5:
            arms.append(arm)
    return RobustProblem.paper(np.array(arms), [np.zeros((1, 20))] * 50), theta
