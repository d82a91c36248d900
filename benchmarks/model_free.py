"""Certificates without a model: what they cost, how often they err, and what a guide saves.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks model-free` takes a tenth of the runs, for a first
look. On which instances PRIME's constants were chosen says `benchmarks/constants.py`; the first
values of some came from trials on these slippage configurations, games and smooth tables.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.spread import require_time, spread
from benchmarks.table import Row
from surefoot.algorithms.peers.kn_rsb import KnRsb
from surefoot.experiments.instances import GAMES as COINS
from surefoot.experiments.instances import unequal_scales
from surefoot.noise import Bounded, Gaussian
from surefoot.paper.peers import DEVIATION, Kind, mean_rewards
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import TableSimulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "200"))
CHUNK, DELTA, LEVEL = 5, 0.05, 0.01
Array = NDArray[np.float64]

TARGETS = {"SC": 3200, "SC2": 2000, "MM": 700, "SC, unequal variances": 3000}
SMOOTH = {(50, 10): 0.6}
GAMES = {
    "[[.4, .5], [.3, .35]]": COINS[0],
    "[[.4, .5], [.3, .45]]": COINS[1],
    "3 × 3": COINS[2],
}


@dataclass(frozen=True, eq=False)
class World:
    """A table of true means, and what is told about it.

    Attributes:
        means: (n_arms, n_perturbations).
        deviations: (n_arms, n_perturbations) of the noise.
        parameters: (n_pairs, n_parameters) where there are any, else one basis vector per pair.
        features: of the parameters.
        family: of the noise.
    """

    means: Array
    deviations: Array
    parameters: Array | None = None
    features: str = "given"
    family: str = "gaussian"

    @property
    def problem(self) -> RobustProblem:
        n_arms, n_perturbations = self.means.shape
        pairs = np.eye(self.means.size) if self.parameters is None else self.parameters
        arms = np.repeat(np.arange(n_arms), n_perturbations)
        return RobustProblem.from_pairs(pairs, arms, features=self.features)


@dataclass(frozen=True, eq=False)
class Case:
    """Runs on one world, or on one drawn for each run."""

    world: Callable[[int], World]
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, seed: int) -> tuple[int, bool, bool]:
        """Samples, whether it was certified, and whether that was wrong."""
        world = self.world(seed)
        problem, values = world.problem, world.means.min(axis=1)
        simulator = TableSimulator(
            world.means.ravel(),
            world.deviations.ravel(),
            np.random.SeedSequence((20, seed)),
            world.family,  # type: ignore[arg-type]
        )
        options = {"delta": DELTA, "misfit": math.inf} | self.options
        result = identify(problem, simulator, **options)
        tolerance = options.get("tolerance", 0.0)
        wrong = result.certified and values[result.arm] < values.max() - tolerance
        return result.samples, result.certified, bool(wrong)


def rows() -> Iterator[Row]:
    from benchmarks import misfit  # which uses this module

    yield from _parabola()
    yield from misfit.rows()
    yield from _slippage()
    yield from _smooth()
    yield from _games()
    require_time()
    yield from _speed()


def _parabola() -> Iterator[Row]:
    for told, noise in (("σ given", Gaussian(0.3)), ("nothing known", Gaussian())):
        found = runs_of(Case(parabola, {"noise": noise}))
        yield _row(f"the parabola of the guide on misfit, {told}", found, 2300)


def _slippage() -> Iterator[Row]:
    for name, target in TARGETS.items():
        case = Case(lambda seed, name=name: slippage(name), {"noise": Gaussian()})
        yield _row(f"10 × 5 {name}, nothing known", runs_of(case), target)
    for name in TARGETS:
        told = {"noise": Gaussian(), "tolerance": 0.999}
        zone = {"noise": Gaussian(), "algorithm": KnRsb(zone=1.0)}
        found, peer = (
            runs_of(Case(lambda seed, name=name: slippage(name), options))
            for options in (told, zone)
        )
        mean, share = peer[0].mean(), 1.0 if "unequal" in name else 0.85
        work = f"10 × 5 {name}, tolerance 0.999 (KN-RSB, told the gap: {mean:,.0f})"
        yield _row(work, found, share * mean)


def _smooth() -> Iterator[Row]:
    for size, target in SMOOTH.items():
        options = {"noise": Gaussian(), "tolerance": 0.2, "budget": 500_000}
        worlds = [lambda seed, size=size: smooth(*size, seed)] * 3
        found = {
            guide: runs_of(Case(world, options | {"guide": guide}))
            for guide, world in zip(("tabular", "trend", "gaussian-process"), worlds, strict=True)
        }
        tabular = found.pop("tabular")
        for guide, (samples, certified, wrong) in found.items():
            ratio = samples.mean() / tabular[0].mean()
            errors = _rejected(wrong) or _rejected(tabular[2])
            yield Row(
                f"smooth tables {size[0]} × {size[1]}: pulls with guide {guide} / tabular",
                f"{ratio:.2f} ({samples.mean():,.0f} / {tabular[0].mean():,.0f}, {len(samples)} "
                f"runs; wrong {wrong.sum():g}, not certified {len(wrong) - certified.sum():g})",
                f"≤ {target} with one of the two",
                bool(ratio <= target and not errors),
            )


def _games() -> Iterator[Row]:
    for delta in (0.1,):
        for name, means in GAMES.items():
            table = np.array(means)
            options = {"noise": Bounded(0, 1), "delta": delta}
            world = World(table, np.ones_like(table), family="bernoulli")
            samples, _, wrong = runs_of(Case(lambda seed, world=world: world, options))
            far = float((samples > 3 * np.median(samples)).mean())
            yield Row(
                f"game {name}, δ = {delta:g}: runs above three times the median",
                f"{100 * far:.1f} %; mean {samples.mean():,.0f}, wrong {wrong.sum():g}",
                "≤ 2 %",
                bool(far <= 0.02 and not _rejected(wrong, delta)),
            )


def _speed() -> Iterator[Row]:
    case = Case(lambda seed: slippage("MM", 15), {"noise": Gaussian()})
    case.run(0)
    began = time.perf_counter()
    for seed in range(1, 11):
        case.run(seed)
    spent = (time.perf_counter() - began) / 10
    yield Row("75 pairs, whole run", f"{1000 * spent:.0f} ms", "≤ 60 ms", spent <= 0.06)
    began = time.perf_counter()
    samples, certified, _ = Case(many_arms, {"noise": Gaussian(), "tolerance": 0.5}).run(1)
    spent = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield Row(
        f"20 000 arms × 5, whole run, {samples:,} pulls, {'' if certified else 'not '}certified",
        f"{spent:.0f} s, {used:.1f} GB",
        "≤ 120 s, ≤ 4 GB",
        spent <= 120 and used <= 4 and certified,
    )


def parabola(seed: int) -> World:
    """Seven arms of two perturbations on a bent line."""
    arms = np.linspace(0.2, 1.4, 7)
    x = (arms[:, None] + np.array([0.1, -0.1])).ravel()
    means = (2.0 * x - 1.5 * x**2).reshape(7, 2)
    return World(means, np.full((7, 2), 0.3), x[:, None], "quadratic")


def slippage(name: str, n_arms: int = 10) -> World:
    """The configurations of ranking and selection, of five perturbations each."""
    kind, _, spread = name.partition(", ")
    means = mean_rewards(cast("Kind", kind), n_arms, 5)
    scales = unequal_scales(n_arms, 5) if spread else np.full(means.size, DEVIATION)
    return World(means, scales.reshape(means.shape))


def smooth(n_arms: int, n_perturbations: int, seed: int) -> World:
    """A draw of a Gaussian process with length 0.35 on a unit square, noise of deviation 1."""
    x, root = _process(n_arms, n_perturbations)
    means = root @ np.random.default_rng((21, seed)).standard_normal(len(x))
    shape = (n_arms, n_perturbations)
    return World(means.reshape(shape), np.ones(shape), x, "quadratic")


@lru_cache(maxsize=1)  # a root of 4 000 rows takes as long as a run
def _process(n_arms: int, n_perturbations: int) -> tuple[Array, Array]:
    """The points of the square, and a root of the covariance of rewards there."""
    grid = np.meshgrid(np.linspace(0, 1, n_arms), np.linspace(0, 1, n_perturbations), indexing="ij")
    x = np.column_stack([axis.ravel() for axis in grid])
    squared = ((x[:, None] - x) ** 2).sum(axis=-1)
    return x, np.linalg.cholesky(np.exp(-squared / 2 / 0.35**2) + 1e-8 * np.eye(len(x)))


def many_arms(seed: int) -> World:
    """Twenty parameters, and rewards that are nearly linear in them."""
    generator = np.random.default_rng((22, seed))
    arms = generator.standard_normal((20_000, 20)) / np.sqrt(20)
    x = (arms[:, None, :] + 0.05 * generator.standard_normal((20_000, 5, 20))).reshape(-1, 20)
    means = 4 * x @ (generator.standard_normal(20) / np.sqrt(20)) + 0.05 * np.sin(20 * x[:, 0])
    return World(means.reshape(20_000, 5), np.full((20_000, 5), 0.5), x, "linear")


def _row(work: str, found: tuple[Array, Array, Array], target: float) -> Row:
    samples, certified, wrong = found
    errors, runs = int(wrong.sum()), len(samples)
    spread = samples.std(ddof=1) / np.sqrt(runs)
    return Row(
        work,
        f"{samples.mean():,.0f} ± {spread:,.0f} pulls; {errors} of {runs} wrong, "
        f"{int(runs - certified.sum())} not certified",
        f"≤ {target:,.0f} pulls, errors ≤ {DELTA:g}",
        bool(samples.mean() <= target and not _rejected(wrong)),
    )


def _rejected(wrong: Array, delta: float = DELTA) -> bool:
    """Whether the exact test rejects that this many errors have probability δ each at most."""
    return bool(stats.binom.sf(wrong.sum() - 1, len(wrong), delta) < LEVEL)


def runs_of(case: Case, runs: int = RUNS) -> tuple[Array, Array, Array]:
    """(n_runs,) samples, whether certified, whether wrong."""
    import cloudpickle

    packed = cloudpickle.dumps(case)
    parts = [(packed, range(k, min(k + CHUNK, runs))) for k in range(0, runs, CHUNK)]
    found = [row for chunk in spread(_chunk, parts) for row in chunk]
    samples, certified, wrong = (
        np.array(column, dtype=np.float64) for column in zip(*found, strict=True)
    )
    return samples, certified, wrong


def _chunk(packed: bytes, seeds: range) -> list[tuple[int, bool, bool]]:
    import cloudpickle

    case = cloudpickle.loads(packed)
    return [case.run(seed) for seed in seeds]
