"""Clusters: how busy workers are by a simulated clock, what that costs in pulls, and what the
driver itself takes.

Lengths of pulls are log-uniform from 0.01 to 2 s (mean 0.38 s), or uniform from 5 to 15 min. Busy
is the share of the workers' time, until the answer, that is spent inside pulls. The chain is what
no method can do without, however many workers there are: two pulls of the longest length, one after
the other, since what proves an answer is chosen after something was seen.
"""

from __future__ import annotations

import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import surefoot as sf
from benchmarks.table import Row
from surefoot.algorithms import Settings, algorithm_from
from surefoot.arrays import Array, IntArray
from surefoot.simulate import TableSimulator
from surefoot.study import Pull, Study
from surefoot.study.before.forecast import expected_left
from surefoot.study.before.timetable import Took, timed

RUNS, ARMS, PERTURBATIONS, SPREAD, GAP = 20, 8, 4, 0.7, 0.5
SHORTEST, LONGEST, CHAIN = 0.01, 2.0, 2
MINUTES = 60.0
DEAR = 10  # times the length of other pulls, where some pairs take longer
Draw = Callable[[np.random.Generator, IntArray], Array]  # seconds of pulls of these pairs


def varied(generator: np.random.Generator, pairs: IntArray) -> Array:
    """Seconds, log-uniform."""
    return np.exp(generator.uniform(math.log(SHORTEST), math.log(LONGEST), len(pairs)))


def long(generator: np.random.Generator, pairs: IntArray) -> Array:
    """Ten minutes, more or less five."""
    return generator.uniform(5 * MINUTES, 15 * MINUTES, len(pairs))


def equal(generator: np.random.Generator, pairs: IntArray) -> Array:
    return np.ones(len(pairs))


def dear(generator: np.random.Generator, pairs: IntArray) -> Array:
    """Seconds, more or less a half; the last perturbation of every arm takes ten times as long."""
    slow = pairs % PERTURBATIONS == PERTURBATIONS - 1
    return np.where(slow, DEAR, 1.0) * generator.uniform(0.5, 1.5, len(pairs))


def problem(n_arms: int, n_perturbations: int) -> sf.RobustProblem:
    n_pairs = n_arms * n_perturbations
    return sf.RobustProblem.from_pairs(
        np.eye(n_pairs), np.repeat(np.arange(n_arms), n_perturbations)
    )


def means_of(seed: int, gap: float, shape: tuple[int, int]) -> Array:
    """(n_pairs,) random means whose best arm leads by a gap, in standard deviations of a pull."""
    means = SPREAD * np.random.default_rng(seed).normal(size=shape)
    worst = means.min(axis=1)
    first, second = np.argsort(-worst)[:2]
    means[first] += worst[second] - worst[first] + gap
    return np.asarray(means.ravel())


def study(workers: int, seed: int, draw: Draw, **asked: Any) -> Took:
    """One study on a simulated cluster, with defaults for that many workers."""
    shape = ARMS, PERTURBATIONS
    settings = Settings(delta=0.05, noise=sf.Gaussian(), parallel=workers, **asked)
    run = algorithm_from("prime").start(problem(*shape), settings)
    simulator = TableSimulator(means_of(seed, GAP, shape), 1.0, seed)
    clock = np.random.default_rng([seed, workers])

    def lengths(pairs: IntArray) -> Array:
        return draw(clock, pairs)

    return timed(run, simulator, workers, lengths, clock)


def busy_rows() -> Iterator[Row]:
    alone = [study(1, seed, varied) for seed in range(RUNS)]
    asked: list[tuple[int, str, Draw, float]] = [
        (8, "lengths 0.01 to 2 s", varied, 0.85),
        (100, "lengths 0.01 to 2 s", varied, 0.75),
        (100, "equal lengths", equal, 0.90),
        (500, "lengths 5 to 15 min", long, 0.80),
    ]
    for workers, words, draw, least in asked:
        found = [study(workers, seed, draw) for seed in range(RUNS)]
        seconds = np.array([each.seconds for each in found])
        busy = float(np.average([each.busy for each in found], weights=seconds))
        yield Row(
            f"{workers} workers, {words}: busy", f"{busy:.0%}", f"≥ {least:.0%}", busy >= least
        )
        times = sum(each.pulls for each in found) / sum(each.pulls for each in alone)
        most = 1.25 if workers == 8 else None
        yield Row(
            f"{workers} workers, {words}: pulls begun, times those of one worker",
            f"{times:.2f}",
            f"≤ {most}" if most else "–",
            times <= most if most else None,
        )
        if workers == 100 and draw is varied:
            chains = float(seconds.mean()) / (CHAIN * LONGEST)
            yield Row(
                f"{workers} workers, {words}: time to the answer, in {CHAIN} longest pulls",
                f"{chains:.1f} ({seconds.mean():.1f} s)",
                "≤ 5",
                chains <= 5,
            )


def cost_row() -> Row:
    """The sum of lengths where a perturbation takes ten times as long, on one worker."""
    counted, weighed = (
        sum(study(1, seed, dear, cost=cost).spent for seed in range(RUNS))
        for cost in (None, "time")
    )
    ratio = weighed / counted
    return Row(
        'a perturbation that takes ten times as long, cost = "time": time of pulls, times without',
        f"{ratio:.2f}",
        "< 1",
        ratio < 1,
    )


def forecast_rows() -> Iterator[Row]:
    """Looks after the first comparison; the last of a run is left out, where nothing is left."""
    found: list[float] = []
    for noise in (sf.Gaussian(), sf.Gaussian(1.0), sf.Gaussian(equal=True)):
        for shape in ((8, 4), (30, 3)):
            for seed, gap in ((seed, gap) for seed in range(RUNS) for gap in (1.5, 0.7, 0.3)):
                run = algorithm_from("prime").start(
                    problem(*shape), Settings(delta=0.05, noise=noise)
                )
                simulator, said = TableSimulator(means_of(seed, gap, shape), 1.0, seed), []
                while phase := run.next_phase():
                    run.update(simulator.pull(phase))
                    left = expected_left(run) if run.boundary is not None else None
                    said.append((run.samples, left))
                found += [
                    math.log(max(left, 1.0) / (run.samples - told))
                    for told, left in said[:-1]
                    if left is not None
                ]
    logs = np.array(found)
    middle, near = float(np.exp(np.median(logs))), float((np.abs(logs) <= math.log(3)).mean())
    yield Row(
        f"forecasts of pulls left, {len(logs)} looks after the pilot: median of said / true",
        f"{middle:.2f}",
        "0.8 to 1.25",
        0.8 <= middle <= 1.25,
    )
    yield Row("the same: share within a factor of 3", f"{near:.0%}", "≥ 80 %", near >= 0.8)


def driver_row(folder: Path) -> Row:
    """The processor time of a study whose simulator takes none."""
    shape = 64, 6
    means = means_of(3, 3.0, shape)

    def instant(pull: Pull) -> float:
        return float(means[pull.pair] + 0.1 * pull.rng().normal())

    path = folder / "driver.db"
    with Study.create(path, problem(*shape), delta=0.05, noise=sf.Gaussian(1.0), seed=1) as begun:
        before = time.process_time()
        result = begun.run(instant, "serial")
        spent = time.process_time() - before
    return Row(
        f"driver's processor time at {len(means)} pairs, {result.samples} pulls",
        f"{spent:.1f} s",
        "≤ 2 s",
        spent <= 2,
    )


def large_row(folder: Path) -> Row:
    """100 000 arms under 10 perturbations: a study from its creation to its answer."""
    n_arms, n_perturbations = 100_000, 10
    n_pairs = n_arms * n_perturbations
    offsets = np.repeat(np.arange(n_arms), n_perturbations)
    before = time.perf_counter()
    asked = sf.RobustProblem.from_pairs(np.arange(n_pairs)[:, None] / n_pairs, offsets)
    means = np.arange(n_pairs) / n_pairs
    with Study.create(
        folder / "large.db", asked, delta=0.05, noise=sf.Gaussian(1e-3), misfit=0.0, seed=1
    ) as begun:
        result = begun.run(lambda pull: means[pull.pair] + 1e-3 * pull.rng().normal(), "serial")
    spent = time.perf_counter() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Row(
        f"a study of {n_arms:,} arms × {n_perturbations}, with a model, {result.samples} pulls",
        f"{spent:.0f} s, {memory:.1f} GB",
        "–",
        None,
    )


def rows() -> Iterator[Row]:
    yield from busy_rows()
    yield cost_row()
    yield from forecast_rows()
    with tempfile.TemporaryDirectory() as name:
        yield driver_row(Path(name))
        yield large_row(Path(name))
