"""How many samples PRIME needs beside the paper's algorithms, how often it errs, and what large
runs cost.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks samples` takes a tenth of the runs, for a first look.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchmarks.spread import require_time, spread
from benchmarks.table import Row
from surefoot.design.hardness import binary_divergence, complexity
from surefoot.experiments.instances import (
    Instance,
    classic,
    irrelevant_dimensions,
    on_sphere,
    random_robust,
    unit_sphere,
)
from surefoot.noise import Gaussian
from surefoot.paper.figure1 import ENTRANTS, PAPER
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "200"))
LEVEL = 0.05  # of the exact test of "errors ≤ δ"
CHUNK = 10  # runs a job
# PRIME alone runs so many times more often against the bound: 200 runs give its mean only to 6 %
EXTRA = 4
SPHERE_OF_THE_BOUND = 50
ORACLE, STATIC, RAGE = "Oracle · paper", "Robust Static · paper", "Robust RAGE · paper"
PRIME, SUB_GAUSSIAN, UNKNOWN = (
    "PRIME · valid",
    "PRIME, sub-Gaussian · valid",
    "PRIME, unknown scale · valid",
)
DELTA = PAPER.delta
FIELD = {f"{c.label} · {c.policy}": c for c in ENTRANTS}
COMPARED = (ORACLE, STATIC, RAGE, PRIME, SUB_GAUSSIAN, UNKNOWN)

FAMILIES: dict[str, Callable[[int, np.random.Generator], Instance]] = {
    "irrelevant dimensions": lambda size, rng: _remembered("irrelevant dimensions", size),
    "unit sphere": lambda size, rng: unit_sphere(size, rng=rng),
    "classic": lambda size, rng: _remembered("classic", size),
    "random robust": lambda size, rng: _hull_helps(rng, size, 5),
    "random robust, d = 10": lambda size, rng: _hull_helps(rng, size, 10),
}
SPHERES = (10, 20, 50, 100)
HULLS = (10, 50)  # arms of robust instances
TABLE = [("irrelevant dimensions", 5)] + [("unit sphere", size) for size in SPHERES]
MORE = [("classic", 6), ("random robust", 8)]
ROBUST = [
    ("random robust, d = 10", size) for size in HULLS
]  # of the spheres' sizes: a ratio depends on them
FIXED = ("irrelevant dimensions", "classic")  # one instance for all runs


def rows() -> Iterator[Row]:
    every = all_runs()
    found = every[every["run"] < RUNS]
    yield from _means(found)
    yield from _against_the_oracle(found)
    yield _rage_over_prime(found)
    yield from _against_the_lower_bound(every)
    yield from _where_the_hull_helps(found)
    yield from _errors(every)
    require_time()
    yield _many_arms()
    yield _small_run()


def all_runs() -> pd.DataFrame:
    """Every run of every contender on every instance, a row each, and 2 kl(δ, 1 − δ) H* of the
    instance.
    """
    jobs = [
        (family, size, first, first + CHUNK)
        for family, size in reversed([*TABLE, *MORE, *ROBUST])
        for first in range(0, RUNS * (1 + EXTRA) if family in FIXED else RUNS, CHUNK)
    ]
    return pd.DataFrame([row for found in spread(_some_runs, jobs) for row in found])


def _some_runs(family: str, size: int, first: int, last: int) -> list[dict[str, Any]]:
    return [row for run in range(first, last) for row in _one_run(family, size, run)]


def _one_run(family: str, size: int, run: int) -> list[dict[str, Any]]:
    key = (list(FAMILIES).index(family), size, run)
    instance_seed, noise_seed = np.random.SeedSequence(2026, spawn_key=key).generate_state(
        2, np.uint64
    )
    instance = FAMILIES[family](size, np.random.default_rng(instance_seed))
    where = {"family": family, "size": size, "run": run, "bound": _bound(family, size, instance)}
    contenders = (
        (PRIME,) if run >= RUNS else (ORACLE, PRIME) if (family, size) in ROBUST else COMPARED
    )
    return [
        where | {"name": name, **FIELD[name].run(instance, int(noise_seed) >> 1, PAPER)}
        for name in contenders
    ]


@functools.cache
def _remembered(family: str, size: int) -> Instance:
    return irrelevant_dimensions(size) if family == "irrelevant dimensions" else classic(size)


def _hull_helps(rng: np.random.Generator, arms: int, d: int) -> Instance:
    """A random instance on which the hull of the perturbations matters: H* < 0.9 H_R, as on most of
    these.
    """
    while True:
        instance = _wide(rng, arms, d)
        hardness = complexity(*instance, tolerance=1e-3)
        if hardness.exact < 0.9 * hardness.paper:
            return instance


def _wide(
    rng: np.random.Generator, arms: int, d: int, perturbations: int = 10, gap: float = 0.3
) -> Instance:
    """Arms 0.5 off the line of θ, perturbations as far again: half of them cost the same, so
    several bind at once.
    """
    theta = on_sphere(rng, 1, d)[0]
    shortfalls = np.concatenate([[0.0], gap * (1 + 0.5 * np.arange(arms - 1))])
    costs = np.concatenate(
        [
            np.full(perturbations // 2, 0.2),
            np.linspace(0.0, 0.2, perturbations - perturbations // 2),
        ]
    )
    centres = 0.5 * _across(rng, arms, theta) + np.outer(1 - shortfalls, theta)
    return RobustProblem.paper(
        centres,
        [0.5 * _across(rng, perturbations, theta) + np.outer(costs, theta) for _ in range(arms)],
    ), theta


def _across(rng: np.random.Generator, n: int, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    points = on_sphere(rng, n, len(theta))
    return points - np.outer(points @ theta, theta)


def _bound(family: str, size: int, instance: Instance) -> float:
    """2 kl(δ, 1 − δ) H*, where a target is about it."""
    if family == "unit sphere" and size == SPHERE_OF_THE_BOUND:
        return 2 * binary_divergence(DELTA) * complexity(*instance, tolerance=1e-3).exact_bounds[0]
    return _bound_for_all_runs(family, size) if family in FIXED else math.nan


@functools.cache
def _bound_for_all_runs(family: str, size: int) -> float:
    hardness = complexity(*_remembered(family, size), tolerance=1e-3)
    return 2 * binary_divergence(DELTA) * hardness.exact_bounds[0]


def _ratios(
    found: pd.DataFrame, name: str, to: str, instances: list[tuple[str, int]] = TABLE
) -> pd.Series[float]:
    """Mean samples of one contender over those of another, for each instance."""
    means = found.groupby(["family", "size", "name"])["samples"].mean()
    ratio: pd.Series[float] = means.xs(name, level="name") / means.xs(to, level="name")
    return ratio.loc[[pair for pair in ratio.index if pair in set(instances)]]


def _geometric(values: pd.Series[float]) -> float:
    return float(np.exp(np.log(values).mean()))


def _means(found: pd.DataFrame) -> Iterator[Row]:
    """The samples behind the ratios."""
    means = found.groupby(["family", "size", "name"])["samples"].mean()
    for family, size in [*TABLE, *MORE, *ROBUST]:
        row = {name: float(mean) for name, mean in means[family, size].items()}
        work = f"mean samples, {family} {size}"
        for name in COMPARED:
            if name in row:
                yield Row(f"{work}: {name.split(' · ')[0]}", f"{row[name]:,.0f}")
        slowest = max(row[name] for name in (PRIME, SUB_GAUSSIAN, UNKNOWN) if name in row)
        ratio = slowest / row[ORACLE]
        yield Row(f"{work}: slowest PRIME / Oracle", f"{ratio:.2f}", "< 1", ratio < 1)


def _against_the_oracle(found: pd.DataFrame) -> Iterator[Row]:
    for name, target in ((PRIME, 0.38), (SUB_GAUSSIAN, 0.6), (UNKNOWN, 0.4)):
        ratios = _ratios(found, name, ORACLE)
        mean = _geometric(ratios)
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        yield Row(
            f"{name}: samples / paper's oracle, geometric mean",
            f"{mean:.3f} ({each})",
            f"≤ {target}",
            mean <= target,
        )


def _rage_over_prime(found: pd.DataFrame) -> Row:
    ratios = _ratios(found, RAGE, PRIME)
    each = ", ".join(f"{family} {size}: {ratio:.1f}" for (family, size), ratio in ratios.items())
    return Row(
        "Robust RAGE (paper) / PRIME, every instance", each, "≥ 4", bool((ratios >= 4).all())
    )


def _against_the_lower_bound(every: pd.DataFrame) -> Iterator[Row]:
    """Mean over mean, with the standard error that the number of runs leaves."""
    prime = every[every["name"] == PRIME].groupby(["family", "size"])
    means, errors, runs = prime[["samples", "bound"]].mean(), prime["samples"].sem(), prime.size()
    ratio, error = means["samples"] / means["bound"], errors / means["bound"]
    for family, sizes, target in (
        ("irrelevant dimensions", (5,), 1.4),
        ("classic", (6,), 1.6),
        ("unit sphere", (SPHERE_OF_THE_BOUND,), 2.6),
    ):
        work = (
            f"PRIME: samples / (2 kl(δ, 1−δ) H*), {family} {', '.join(map(str, sizes))}, "
            f"{runs[family, sizes[0]]} runs"
        )
        measured = ", ".join(
            f"{ratio[family, size]:.2f} ± {error[family, size]:.2f}" for size in sizes
        )
        yield Row(
            work,
            measured,
            f"≤ {target}",
            bool(max(ratio[family, size] for size in sizes) <= target),
        )


def _where_the_hull_helps(found: pd.DataFrame) -> Iterator[Row]:
    """On instances of the spheres' sizes, and on smaller ones: the oracle's union over pairs
    depends on the size.
    """
    alike = [("unit sphere", size) for size in HULLS]
    sphere = _geometric(_ratios(found, PRIME, ORACLE, alike))
    for instances, what in (
        (ROBUST, f"d = 10, {', '.join(map(str, HULLS))} arms"),
        (MORE[-1:], "d = 5, 8 arms"),
    ):
        ratios = _ratios(found, PRIME, ORACLE, instances)
        ratio, each = _geometric(ratios), ", ".join(f"{ratio:.2f}" for ratio in ratios)
        work = f"PRIME: samples / oracle, random robust instances with H* < 0.9 H_R, {what}"
        measured = f"{ratio:.3f} ({each})" if len(ratios) > 1 else each
        yield Row(
            work,
            measured,
            f"< {sphere:.3f}, that of unit spheres of {' and '.join(map(str, HULLS))}",
            bool(ratio < sphere),
        )


def _errors(found: pd.DataFrame) -> Iterator[Row]:
    for name in (PRIME, SUB_GAUSSIAN, UNKNOWN):
        runs = found[found["name"] == name]
        wrong, count = int((runs["certified"] & ~runs["correct"]).sum()), len(runs)
        p = float(stats.binom.sf(wrong - 1, count, DELTA))
        measured = (
            f"{wrong} of {count}, p = {p:.2g}; {int((~runs['certified']).sum())} not certified"
        )
        yield Row(
            f"{name}: errors over all runs",
            measured,
            f"exact test cannot reject ≤ {DELTA:g}",
            p >= LEVEL,
        )


def _many_arms() -> Row:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        taken, gigabytes, samples, certified = pool.submit(_large_run).result()
    work = f"PRIME: 20 000 arms × 5 perturbations, d = 20, whole run, {samples:,} pulls"
    measured = f"{taken:.0f} s, {gigabytes:.2f} GB{'' if certified else ', NOT CERTIFIED'}"
    return Row(work, measured, "≤ 120 s, ≤ 4 GB", taken <= 120 and gigabytes <= 4 and certified)


def _large_run() -> tuple[float, float, int, bool]:
    """Arms on a sphere, perturbations of radius 0.05, θ a random direction; in a process of its own
    for its memory.
    """
    rng = np.random.default_rng(20)
    arms = on_sphere(rng, 20_000, 20)
    problem = RobustProblem.paper(arms, [0.05 * on_sphere(rng, 5, 20) for _ in arms])
    theta = on_sphere(rng, 1, 20)[0]
    settings = {"delta": DELTA, "noise": Gaussian(1.0), "misfit": 0.0}
    identify(*_warm_up(), "prime", **settings)
    begun = time.perf_counter()
    result = identify(problem, LinearSimulator(problem, theta, seed=1), "prime", **settings)
    taken = time.perf_counter() - begun
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return taken, gigabytes, result.samples, result.certified


def _warm_up() -> tuple[RobustProblem, LinearSimulator]:
    problem, theta = random_robust()
    return problem, LinearSimulator(problem, theta, seed=0)


def _small_run() -> Row:
    """In a process like those of the other runs, with one thread for linear algebra."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        median = pool.submit(_median_time).result()
    return Row(
        "PRIME: 75 pairs, d = 10, whole run", f"{1e3 * median:.1f} ms", "≤ 30 ms", median <= 0.03
    )


def _median_time() -> float:
    """Over fresh problems, so that no design is remembered from the run before."""
    times = []
    for seed in range(16):
        problem, theta = random_robust(15, 5, 10, rng=np.random.default_rng(seed))
        simulator = LinearSimulator(problem, theta, seed=seed)
        begun = time.perf_counter()
        identify(problem, simulator, "prime", delta=DELTA, noise=Gaussian(1.0), misfit=0.0)
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])  # the first run loads compiled code
