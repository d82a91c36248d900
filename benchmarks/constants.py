"""PRIME's constants beside others, on instances that no other table prints.

Constants that are chosen on the instances of a table flatter it. These instances were made for
choosing: other sizes, gaps, noise levels, games and smooth functions, boxes in place of spheres.
Each constant is held against a smaller and a larger value, all others as they are by default. What
seems better there is held against the default again, with twice as many fresh seeds: the luckiest
of fifty is better than it is.
`SUREFOOT_BENCH_RUNS=40 python -m benchmarks constants` takes fewer runs, for a first look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contests import Cell, Ratio, held
from benchmarks.table import Row
from surefoot.algorithms.prime import Prime, Tuning
from surefoot.arrays import Array
from surefoot.experiments.peers.contest import Run
from surefoot.noise import Bounded, Gaussian
from surefoot.problem import RobustProblem
from surefoot.simulate import Family, TableSimulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "300"))
DELTA = 0.05
SEEMS = 0.99  # ratio of pulls below which a value is held against the default again
AGAIN = 2  # times as many runs, all of them fresh
ZONE = 0.97  # a default is left for what saves more than this: less is not worth other plans
PAIRS = {  # a smaller and a larger value of what steers direct comparisons
    "pair_pulls": (4.0, 9.0),
    "pair_growth": (1.05, 1.2),
    "loyalty": (0.0, 0.5),
    "own_doubt": (0.1, 1.0),
    "slight": (0.25, 1.0),
    "least_gap": (0.07, 0.3),
    "least_share": (0.3, 0.9),
    "least_hope": (0.03, 0.3),
    "pilot_sure": (0.5, 0.9),
    "grid_rise": (0.5, 2.0),
    "grid_middle": (35, 55),
    "pilot_pulls": (2, 5),
    "pilot_most": (2.0, 8.0),
    "score_most": (15, 60),
    "wealth_least": (2, 8),
}
MODEL = {  # likewise where a model is trusted
    "growth": (1.08, 1.25),
    "trust": (6.0, 24.0),
    "strictness": (1.0, 4.0),
    "unit_per_dimension": (3, 8),
    "hope": (0.4, 0.8),
    "doubt": (0.1, 1.0),
    "patience": (0.35, 1.4),
    "exploration": (0.02, 0.08),
    "curiosity": (1.0, 9.0),
}
BATCHED = {  # likewise if nothing is known about the noise
    "batched_growth": (1.15, 1.4),
    "batched_trust": (2.0, 8.0),
    "batched_unit": (3.5, 7.0),
    "batch_loss": (0.5, 1.3),
}


@dataclass(frozen=True, eq=False)
class Draw:
    """One instance: its problem, the true means of its pairs, and what is told about it."""

    problem: RobustProblem
    means: Array
    scales: Array
    settings: dict[str, Any]
    family: Family = "gaussian"

    @property
    def values(self) -> Array:
        """(n_arms,) the true worst means."""
        return np.minimum.reduceat(self.means, self.problem.offsets[:-1])

    def right(self, arm: int) -> bool:
        return bool(self.values[arm] >= self.values.max() - self.settings.get("tolerance", 0.0))


@dataclass(frozen=True)
class World:
    """A family of instances: each run has a draw of its own."""

    family: str

    def problem(self) -> None:
        """Each run draws its own."""


@dataclass(frozen=True)
class Tuned:
    """PRIME with some constants changed."""

    changes: tuple[tuple[str, float], ...] = ()

    def run(self, world: World, problem: None, seed: np.random.SeedSequence) -> Run:
        shape, noise = seed.spawn(2)
        draw = FAMILIES[world.family](np.random.default_rng(shape))
        simulator = TableSimulator(draw.means, draw.scales, noise, draw.family)
        prime = Prime(tuning=Tuning(**dict(self.changes)))
        result = identify(draw.problem, simulator, prime, delta=DELTA, **draw.settings)
        return Run(result.samples, result.certified, draw.right(result.arm))


def rows() -> Iterator[Row]:
    yield from _compared(PAIRS, [World(name) for name in DIRECT])
    yield from _compared(MODEL, [World(name) for name in MODELLED])
    yield from _compared(BATCHED, [World(name) for name in UNKNOWN])


def _compared(constants: dict[str, tuple[float, float]], worlds: list[World]) -> Iterator[Row]:
    """All values with the same seeds, and then the better ones of those that seem better."""
    default = held([(world, Tuned(), RUNS) for world in worlds])
    for world, cell in zip(worlds, default, strict=True):
        yield Row(f"constants by default on {world.family}", str(cell))
    better: dict[str, float] = {}
    for name, others in constants.items():
        found = {value: _tried(name, value, worlds) for value in others}
        ratios = {value: Ratio.of(cells, default) for value, cells in found.items()}
        for value, cells in found.items():
            yield Row(_work(name, value), _shown(ratios[value], cells))
        best = min(others, key=lambda value: ratios[value].mean)
        if ratios[best].mean < SEEMS:
            better[name] = best
    yield from _again(better, worlds)


def _again(better: dict[str, float], worlds: list[World]) -> Iterator[Row]:
    default = held([(world, Tuned(), AGAIN * RUNS) for world in worlds], RUNS) if better else []
    for name, value in better.items():
        cells = _tried(name, value, worlds, AGAIN * RUNS, RUNS)
        ratio = Ratio.of(cells, default)
        work, enough = f"{_work(name, value)}, again with fresh seeds", ratio.mean >= ZONE
        yield Row(work, _shown(ratio, cells), f"≥ {ZONE}, else it is moved", enough)


def _tried(
    name: str, value: float, worlds: list[World], runs: int = RUNS, first: int = 0
) -> list[Cell]:
    return held([(world, Tuned(((name, value),)), runs) for world in worlds], first)


def _work(name: str, value: float) -> str:
    return f"pulls with {name} = {value:g} / {getattr(Tuning(), name):g}, geometric mean"


def _shown(ratio: Ratio, cells: list[Cell]) -> str:
    return f"{ratio}; {sum(cell.wrong for cell in cells)} wrong"


def _table(means: Array, scales: Array, family: Family = "gaussian", **settings: Any) -> Draw:
    """Pairs about which nothing but their arm is known."""
    arms = np.repeat(np.arange(len(means)), means.shape[1])
    problem = RobustProblem.from_pairs(
        np.arange(means.size, dtype=np.float64)[:, None], arms, features="tabular"
    )
    told = {"noise": Gaussian(), "trust": "pairs"} | settings
    return Draw(problem, means.ravel(), scales.ravel(), told, family)


def _random_table(rng: np.random.Generator) -> Draw:
    """Seven arms of three perturbations, noise levels that differ by some factor of four."""
    means = rng.normal(size=(7, 3))
    return _table(means, rng.uniform(0.5, 2.0, means.shape), tolerance=0.3)


def _slipped(rng: np.random.Generator) -> Draw:
    """Eight arms of four perturbations; two of each rival, at random, are 0.7 below the rest."""
    means = np.zeros((8, 4))
    for arm in range(1, 8):
        means[arm, rng.choice(4, 2, replace=False)] = -0.7
    return _table(means, np.full(means.shape, 1.3))


def _staircase(rng: np.random.Generator) -> Draw:
    """Twelve arms, each 0.6 to 1.2 below the last, in any order."""
    steps = np.cumsum(np.concatenate([[0.0], rng.uniform(0.6, 1.2, 11)]))
    means = -rng.permutation(steps)[:, None] + rng.uniform(0, 2, (12, 4))
    return _table(means, np.full(means.shape, 2.0), tolerance=0.3)


def _game(rng: np.random.Generator) -> Draw:
    """Four actions of two responses, won with chances in steps of a tenth."""
    chances = rng.permutation(np.array([0.7, 0.55, 0.5, 0.4]))[:, None]
    means = chances + np.column_stack([np.zeros(4), rng.uniform(0, 0.25, 4)])
    return _table(means, np.ones(means.shape), "bernoulli", noise=Bounded(0, 1))


def _waves(rng: np.random.Generator) -> Draw:
    """Twelve arms of six perturbations on a sum of two waves, with a trend as guide."""
    x, y = np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 6), indexing="ij")
    turns, starts = rng.uniform(1, 5, (2, 2)), rng.uniform(0, 2 * np.pi, 2)
    means = sum(np.sin(turns[k, 0] * x + turns[k, 1] * y + starts[k]) for k in (0, 1))
    points = np.column_stack([x.ravel(), y.ravel()])
    arms = np.repeat(np.arange(12), 6)
    problem = RobustProblem.from_pairs(points, arms, features="quadratic")
    told = {"noise": Gaussian(), "trust": "pairs", "tolerance": 0.2}
    return Draw(problem, np.asarray(means).ravel(), np.full(72, 0.8), told)


def _boxes(
    dimension: int, n_arms: int, ratio: float | None = None
) -> Callable[[np.random.Generator], Draw]:
    """Arms in a cube, each with the corners of a box round it in three of the dimensions.

    Args:
        ratio: by which noise levels may differ, of which nothing is told; None: all are 1, and
            that is told.
    """

    def drawn(rng: np.random.Generator) -> Draw:
        arms = rng.uniform(-1, 1, (n_arms, dimension))
        radii = np.zeros((n_arms, dimension))
        radii[:, :3] = rng.uniform(0.05, 0.3, (n_arms, 3))
        problem = RobustProblem.from_boxes(arms, radii)
        theta = rng.normal(size=dimension)
        means = problem.pair_means(theta / np.linalg.norm(theta))
        scales = (
            np.ones(problem.n_pairs)
            if ratio is None
            else ratio ** rng.uniform(-0.5, 0.5, problem.n_pairs)
        )
        told = {"noise": Gaussian(1.0 if ratio is None else None), "tolerance": 0.15}
        return Draw(problem, np.asarray(means), scales, told)

    return drawn


DIRECT = {
    "random tables, 7 × 3": _random_table,
    "two slipped pairs, 8 × 4": _slipped,
    "a staircase, 12 × 4": _staircase,
    "games, 4 × 2": _game,
    "two waves, 12 × 6": _waves,
}
MODELLED = {
    "boxes, 12 arms in 4 dimensions": _boxes(4, 12),
    "boxes, 25 arms in 8 dimensions": _boxes(8, 25),
    "boxes, 60 arms in 6 dimensions": _boxes(6, 60),
}
UNKNOWN = {
    "boxes, 12 arms in 4 dimensions, unknown noise": _boxes(4, 12, 4.0),
    "boxes, 25 arms in 6 dimensions, unknown noise": _boxes(6, 25, 4.0),
}
FAMILIES = DIRECT | MODELLED | UNKNOWN
