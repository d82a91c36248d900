"""PRIME's constants beside others, on instances that no other table prints.

Constants that are chosen on the instances of a table flatter it. These instances were made for
choosing: other sizes, gaps, noise levels, games and smooth functions, boxes in place of spheres.
Each constant is held against a smaller and a larger value, all others as they are by default. What
seems better there is held against the default again, with twice as many fresh seeds: the luckiest
of fifty is not as good as it looks. Last, all that were better again are put together and tried on
the instances of other tables: if defaults flattered these, they would be worse there.
`SUREFOOT_BENCH_RUNS=40 python -m benchmarks constants` takes fewer runs, for a first look;
`SUREFOOT_BENCH_CELLS=.` takes all constants, `=^pairs` those of direct comparisons.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contests import Cell, Ratio, held
from benchmarks.model_free import GAMES
from benchmarks.table import Row, published
from surefoot.arrays import Array
from surefoot.experiments.comparison import Counted
from surefoot.experiments.instances import Instance, classic, irrelevant_dimensions, unit_sphere
from surefoot.noise import Bounded, Gaussian
from surefoot.paper.peers import DEVIATION, KINDS, Kind, mean_rewards
from surefoot.plan import Prime, Tuning
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, TableSimulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "300"))
DELTA = 0.05
SEEMS = 0.99  # ratio of pulls below which a value is held against the default again
AGAIN = 2  # times as many runs, all of them fresh
ZONE = 0.05  # share of pulls that is worth another default; less is a tie, which leaves it
PAIRS = {  # a smaller and a larger value of what steers direct comparisons
    "pair_pulls": (4.0, 9.0),
    "pair_growth": (1.05, 1.2),
    "loyalty": (0.0, 0.5),
    "own_doubt": (0.1, 1.0),
    "slight": (0.15, 0.6),
    "least_share": (0.3, 0.9),
    "pilot_sure": (0.5, 0.9),
    "grid_rise": (0.5, 2.0),
    "grid_middle": (35, 55),
    "pilot_pulls": (2, 5),
    "pilot_most": (2.0, 8.0),
    "hope": (0.4, 0.8),
    "doubt": (0.1, 1.0),
}
WAGERS = {
    "wealth_aim": (0.4, 1.0)
}  # likewise where rewards have a range, and a tolerance ends runs
MODEL = {  # likewise where a model is trusted
    "growth": (1.08, 1.25),
    "trust": (6.0, 24.0),
    "strict": (2.0, 8.0),
    "unit": (3.0, 8.0),
    "hope": (0.4, 0.8),
    "doubt": (0.1, 1.0),
    "exploration": (0.01, 0.05),
}
BATCHED = {  # likewise if nothing is known about the noise; a slower growth takes more looks
    "growth, looks": ((1.08, 80), (1.25, 35)),
    "growth": (1.08, 1.18),
    "looks": (45, 80),
    "trust": (6.0, 24.0),
}

SHOWN = r"^wagers: wealth_aim$"  # as the documentation has it
MOVED = {"growth, looks": (1.25, 35)}  # what stood before, by the same rule


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


Drawn = Callable[[np.random.Generator], Draw]
Changes = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class World:
    """A family of instances: each run has a draw of its own."""

    family: str

    def problem(self) -> None:
        """Each run draws its own."""


@dataclass(frozen=True)
class Tuned:
    """PRIME with some constants changed."""

    changes: Changes = ()

    def run(self, world: World, problem: None, seed: np.random.SeedSequence) -> Counted:
        shape, noise = seed.spawn(2)
        draw = FAMILIES[world.family](np.random.default_rng(shape))
        simulator = TableSimulator(draw.means, draw.scales, noise, draw.family)
        prime = Prime(tuning=Tuning(**dict(self.changes)))
        result = identify(draw.problem, simulator, prime, delta=DELTA, **draw.settings)
        return Counted(result.samples, result.certified, draw.right(result.arm))


def rows() -> Iterator[Row]:
    yield from _chosen("pairs", PAIRS, DIRECT, TABLES)
    yield from _chosen("wagers", WAGERS, PLAYED, {})
    yield from _chosen("model", MODEL, MODELLED, LINEAR)
    yield from _chosen("batched", BATCHED, UNKNOWN, {})
    if published("moved", SHOWN):
        yield from _moved(MOVED, UNKNOWN)


def _chosen(
    group: str,
    constants: dict[str, tuple[Any, Any]],
    families: dict[str, Drawn],
    printed: dict[str, Drawn],
) -> Iterator[Row]:
    """All values with the same seeds, and then the better ones of those that seem better."""
    asked = {
        names: constants[names] for names in constants if published(f"{group}: {names}", SHOWN)
    }
    worlds = [World(name) for name in families if asked]
    default = held([(world, Tuned(), RUNS) for world in worlds])
    for world, cell in zip(worlds, default, strict=True):
        yield Row(f"constants by default on {world.family}", str(cell))
    seeming: list[Changes] = []
    for names, values in asked.items():
        changes = [_changes(names, value) for value in values]
        found = [_tried(change, worlds) for change in changes]
        ratios = [Ratio.of(cells, default) for cells in found]
        for change, cells, ratio in zip(changes, found, ratios, strict=True):
            yield Row(_work(change), _shown(ratio, cells))
        best, change = min(zip(ratios, changes, strict=True), key=lambda pair: pair[0].mean)
        if best.mean < SEEMS:
            seeming.append(change)
    yield from again(seeming, worlds, [World(name) for name in printed])


def _moved(constants: dict[str, Any], families: dict[str, Drawn]) -> Iterator[Row]:
    """What stood before, with the seeds on which it was left."""
    before = [_changes(names, value) for names, value in constants.items()]
    yield from again(before, [World(name) for name in families], [])


def again(seeming: list[Changes], worlds: list[World], printed: list[World]) -> Iterator[Row]:
    """Those that seem better, with fresh seeds; and what they would do to other tables."""
    runs, better = AGAIN * RUNS, []
    default = _tried((), worlds, runs, RUNS) if seeming else []
    for changes in seeming:
        cells = _tried(changes, worlds, runs, RUNS)
        ratio = Ratio.of(cells, default)
        if ratio.mean < 1:
            better.append(changes)
        yield Row(
            f"{_work(changes)}, again with fresh seeds",
            _shown(ratio, cells),
            f"≥ {1 - ZONE:g}, else it is moved",
            ratio.mean >= 1 - ZONE,
        )
    if better and printed:
        together = tuple(change for changes in better for change in changes)
        cells = _tried(together, printed)
        ratio = Ratio.of(cells, _tried((), printed))
        yield Row(
            f"pulls with {_said(together)} / by default, "
            f"on {', '.join(world.family for world in printed)}",
            _shown(ratio, cells),
            f"≤ {1 + ZONE:g}, else defaults flatter the tables of these",
            ratio.mean <= 1 + ZONE,
        )


def _changes(names: str, values: Any) -> Changes:
    """One constant that is changed, or several that belong together."""
    several = values if isinstance(values, tuple) else (values,)
    return tuple(zip(names.split(", "), several, strict=True))


def _tried(changes: Changes, worlds: list[World], runs: int = RUNS, first: int = 0) -> list[Cell]:
    return held([(world, Tuned(changes), runs) for world in worlds], first)


def _work(changes: Changes) -> str:
    usual = " and ".join(f"{getattr(Tuning(), name):g}" for name, _ in changes)
    return f"pulls with {_said(changes)} / {usual}, geometric mean"


def _said(changes: Changes) -> str:
    return " and ".join(f"{name} = {value:g}" for name, value in changes)


def _shown(ratio: Ratio, cells: list[Cell]) -> str:
    return f"{ratio}; {sum(cell.wrong for cell in cells)} wrong"


def _table(means: Array, scales: Array, family: Family = "gaussian", **settings: Any) -> Draw:
    """Pairs about which nothing but their arm is known."""
    arms = np.repeat(np.arange(len(means)), means.shape[1])
    problem = RobustProblem.from_pairs(
        np.arange(means.size, dtype=np.float64)[:, None], arms, features="tabular"
    )
    told = {"noise": Gaussian(), "misfit": math.inf} | settings
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


def _tied_game(rng: np.random.Generator) -> Draw:
    """Four actions that are as good as each other, with a better response each."""
    means = np.column_stack([np.full(4, 0.5), 0.5 + rng.uniform(0, 0.3, 4)])
    return _table(means, np.ones(means.shape), "bernoulli", noise=Bounded(0, 1), tolerance=0.1)


def _coins(rng: np.random.Generator) -> Draw:
    """Six actions of three responses, won with any chances."""
    means = rng.uniform(0.2, 0.8, (6, 3))
    return _table(means, np.ones(means.shape), "bernoulli", noise=Bounded(0, 1), tolerance=0.08)


def _waves(rng: np.random.Generator) -> Draw:
    """Twelve arms of six perturbations on a sum of two waves, with a trend as guide."""
    x, y = np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 6), indexing="ij")
    turns, starts = rng.uniform(1, 5, (2, 2)), rng.uniform(0, 2 * np.pi, 2)
    means = sum(np.sin(turns[k, 0] * x + turns[k, 1] * y + starts[k]) for k in (0, 1))
    points = np.column_stack([x.ravel(), y.ravel()])
    arms = np.repeat(np.arange(12), 6)
    problem = RobustProblem.from_pairs(points, arms, features="quadratic")
    told = {"noise": Gaussian(), "misfit": math.inf, "tolerance": 0.2}
    return Draw(problem, np.asarray(means).ravel(), np.full(72, 0.8), told)


def _boxes(dimension: int, n_arms: int, ratio: float | None = None, size: float = 1.0) -> Drawn:
    """Arms in a cube, each with the corners of a box round it in three of the dimensions.

    Args:
        ratio: by which noise levels may differ, of which nothing is told; None: all are 1, and
            that is told.
        size: by which such levels are larger.
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
            else size * ratio ** rng.uniform(-0.5, 0.5, problem.n_pairs)
        )
        noise = Gaussian(1.0 if ratio is None else None)
        told = {"noise": noise, "misfit": 0.0, "tolerance": 0.15}
        return Draw(problem, np.asarray(means), scales, told)

    return drawn


def _slippage(kind: Kind) -> Drawn:
    means = mean_rewards(kind, 10, 5)
    return lambda rng: _table(means, np.full(means.shape, DEVIATION))


def _known_game(chances: list[list[float]]) -> Drawn:
    means = np.array(chances)
    return lambda rng: _table(means, np.ones(means.shape), "bernoulli", noise=Bounded(0, 1))


def _linear(instance: Instance) -> Drawn:
    problem, theta = instance
    means = np.asarray(problem.pair_means(theta))
    told = {"noise": Gaussian(1.0), "misfit": 0.0}
    return lambda rng: Draw(problem, means, np.ones(len(means)), told)


DIRECT = {
    "random tables, 7 × 3": _random_table,
    "two slipped pairs, 8 × 4": _slipped,
    "a staircase, 12 × 4": _staircase,
    "games, 4 × 2": _game,
    "two waves, 12 × 6": _waves,
}
PLAYED = {
    "ties with a tolerance, 4 × 2": _tied_game,
    "coins with a tolerance, 6 × 3": _coins,
}
MODELLED = {
    "boxes, 12 arms in 4 dimensions": _boxes(4, 12),
    "boxes, 25 arms in 8 dimensions": _boxes(8, 25),
    "boxes, 60 arms in 6 dimensions": _boxes(6, 60),
}
UNKNOWN = {
    "boxes, 12 arms in 4 dimensions, unknown noise": _boxes(4, 12, 4.0),
    "boxes, 25 arms in 6 dimensions, unknown noise": _boxes(6, 25, 4.0),
    "boxes, 20 arms in 12 dimensions, unknown noise": _boxes(12, 20, 4.0),
    "boxes, 15 arms in 5 dimensions, unknown noise of 4 times the size": _boxes(5, 15, 4.0, 4.0),
    "boxes, 8 arms in 3 dimensions, unknown noise of 20 times the size": _boxes(3, 8, 4.0, 20.0),
}
TABLES = {f"10 × 5 {kind}": _slippage(kind) for kind in KINDS} | {
    name: _known_game(chances) for name, chances in GAMES.items()
}
LINEAR = {
    "irrelevant dimensions 10": _linear(irrelevant_dimensions(10)),
    "classic 6": _linear(classic(6)),
    "unit sphere 20": _linear(unit_sphere(20, rng=np.random.default_rng(20))),
    "unit sphere 50": _linear(unit_sphere(50, rng=np.random.default_rng(50))),
}
FAMILIES = DIRECT | PLAYED | MODELLED | UNKNOWN | TABLES | LINEAR
