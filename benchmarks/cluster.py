"""Clusters and scale: how busy workers are, what that costs in pulls, what the driver itself takes,
and how large a study may be.

Lengths of pulls are log-uniform from 0.01 to 2 s (mean 0.38 s), or uniform from 5 to 15 min. Busy
is the share of the workers' time, until the answer, that is spent inside pulls. The chain is what
no method can do without, however many workers there are: two pulls of the longest length, one after
the other, since what proves an answer is chosen after something was seen. Seconds of the driver and
of readers are those of its processor.

Rows by the simulated clock are the same on every machine, and take a minute; `make tables` prints
these alone. The others take ten more on two quiet cores, and 6 GB.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import numpy as np

import surefoot as sf
from benchmarks.table import Row
from surefoot.algorithms import Settings, algorithm_from
from surefoot.arrays import Array, IntArray
from surefoot.simulate import TableSimulator
from surefoot.study import Pull, Study, StudyReader, forecast
from surefoot.study.before.intended import IntendedStudy
from surefoot.study.before.pilot import Pilot
from surefoot.study.before.plan import Patience, expected_costs
from surefoot.study.before.timetable import Took, timed
from surefoot.study.forecast import expected_left
from surefoot.view.dashboard import make_app
from surefoot.view.dashboard.app import warm_up
from surefoot.view.report import study_page

RUNS, ARMS, PERTURBATIONS, SPREAD, GAP = 20, 8, 4, 0.7, 0.5
COSTLY_RUNS = 160  # lengths of whole studies vary more than shares of time
SHORTEST, LONGEST, CHAIN = 0.01, 2.0, 2
MINUTES = 60.0
TIMES = os.environ.get("SUREFOOT_BENCH_TIMES", "1") == "1"  # also rows that depend on the machine
DEAR = 10  # times the length of other pulls, where some pairs take longer
ASLEEP = 3  # studies on threads that sleep: 7 s each
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


def noise_of(seed: int) -> np.random.SeedSequence:
    """A stream that is not the one from which the means are drawn."""
    return np.random.SeedSequence((40, seed))


def study(workers: int, seed: int, draw: Draw, **asked: Any) -> Took:
    """One study on a simulated cluster, with defaults for that many workers."""
    shape = ARMS, PERTURBATIONS
    settings = Settings(delta=0.05, noise=sf.Gaussian(), parallel=workers, **asked)
    run = algorithm_from("prime").start(problem(*shape), settings)
    simulator = TableSimulator(means_of(seed, GAP, shape), 1.0, noise_of(seed))
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


class Sleeper:
    """A simulator that sleeps, and notes when each pull began and ended."""

    def __init__(self, means: Array) -> None:
        self._means = means
        self.began: dict[int, float] = {}
        self.ended: dict[int, float] = {}

    def __call__(self, pull: Pull) -> float:
        self.began[pull.id] = time.monotonic()
        time.sleep(float(varied(pull.stream(1), np.zeros(1, dtype=np.int64))[0]))
        self.ended[pull.id] = time.monotonic()
        return float(self._means[pull.pair] + pull.rng().normal())

    def inside(self, until: float) -> float:
        """Seconds inside pulls until then, those that are called off among them."""
        ended = dict(self.ended)
        return sum(
            max(min(ended.get(k, until), until) - began, 0.0) for k, began in [*self.began.items()]
        )


def asleep_rows(folder: Path) -> Iterator[Row]:
    """Real threads and a real driver: pulls that sleep take nothing of the processor."""
    inside, took = 0.0, list[float]()
    for seed in range(ASLEEP):
        simulate = Sleeper(means_of(seed, GAP, (ARMS, PERTURBATIONS)))
        asked = {"delta": 0.05, "noise": sf.Gaussian(), "parallel": 100, "seed": seed}
        made = Study.create(folder / f"asleep-{seed}.db", problem(ARMS, PERTURBATIONS), **asked)
        with made as begun, ThreadPoolExecutor(100) as threads:
            before = time.monotonic()
            begun.run(simulate, threads)
            end = time.monotonic()
            inside += simulate.inside(end)
        took.append(end - before)
    busy, chains = inside / (100 * sum(took)), float(np.mean(took)) / (CHAIN * LONGEST)
    what = "100 threads that sleep for 0.01 to 2 s"
    yield Row(f"{what}: busy", f"{busy:.0%}", "≥ 75%", busy >= 0.75)
    yield Row(
        f"{what}: time to the answer, in {CHAIN} longest pulls",
        f"{chains:.1f} ({np.mean(took):.1f} s)",
        "≤ 5",
        chains <= 5,
    )


def plan_row() -> Row:
    """The time that `plan` says from a pilot, against other studies with such a gap."""
    workers, asked = 500, problem(ARMS, PERTURBATIONS)
    n_pairs, generator = asked.n_pairs, np.random.default_rng(5)
    times = np.array([long(generator, np.arange(n_pairs)) for _ in range(10)])
    pilot = Pilot(np.arange(n_pairs), generator.normal(size=times.shape), times)
    settings = Settings(delta=0.05, noise=sf.Gaussian(), parallel=workers)
    intended = IntendedStudy(asked, settings, algorithm_from("prime"), pilot, workers)
    said = expected_costs(intended, [GAP], Patience(math.inf, RUNS))[0].seconds["prime"].mean
    took = float(np.mean([study(workers, seed, long).seconds for seed in range(RUNS)]))
    ratio = said / took
    return Row(
        f"{workers} workers, lengths 5 to 15 min: time that plan says, times that taken",
        f"{ratio:.2f} ({said / 3600:.1f} h)",
        "0.75 to 1.25",
        0.75 <= ratio <= 1.25,
    )


def cost_row() -> Row:
    """The sum of lengths where a perturbation takes ten times as long, on one worker."""
    counted, weighed = (
        np.array([study(1, seed, dear, cost=cost).spent for seed in range(COSTLY_RUNS)])
        for cost in (None, "time")
    )
    ratio = float(weighed.mean() / counted.mean())
    differences = weighed / weighed.mean() - counted / counted.mean()
    error = ratio * float(differences.std(ddof=1)) / math.sqrt(COSTLY_RUNS)
    return Row(
        'a perturbation that takes ten times as long, cost = "time": time of pulls, times without',
        f"{ratio:.2f} ± {error:.2f}",
        "< 1",
        ratio + 2 * error < 1,
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
                means, said = means_of(seed, gap, shape), []
                simulator = TableSimulator(means, 1.0, noise_of(seed))
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


def share_row(folder: Path) -> Row:
    """The share of the driver's time that forecasts take, where phases are many."""
    shape, inside = (10, 2), 0.0
    means = np.zeros(20)

    def timed_forecast(run: sf.Algorithm) -> float | None:
        nonlocal inside
        before = time.process_time()
        left = expected_left(run)
        inside += time.process_time() - before
        return left

    path = folder / "share.db"
    asked = {"delta": 0.05, "noise": sf.Gaussian(), "seed": 1, "budget": 20_000}
    with (
        Study.create(path, problem(*shape), **asked) as begun,
        mock.patch.object(forecast, "expected_left", timed_forecast),
    ):
        before = time.process_time()
        begun.run(lambda pull: float(means[pull.pair] + pull.rng().normal()), "serial")
        share = inside / (time.process_time() - before)
    return Row("forecasts: share of the driver's time", f"{share:.2%}", "≤ 1 %", share <= 0.01)


def million_rows(folder: Path) -> Iterator[Row]:
    """A million pulls of a simulator that takes nothing, at exact ties."""
    pulls, path, generator = 1_000_000, folder / "million.db", np.random.default_rng(1)
    asked = {"delta": 0.05, "noise": sf.Gaussian(), "seed": 1, "budget": pulls}
    with Study.create(path, problem(10, 2), **asked) as begun:
        before = time.process_time()
        told = begun.run(lambda pull: generator.normal(), "serial").samples
        cost = 1e6 * (time.process_time() - before) / told
    yield Row(f"own cost a pull, {told:,} pulls", f"{cost:.0f} µs", "≤ 25 µs", cost <= 25)
    before = time.process_time()
    with StudyReader(path) as reader:
        reader.status()
    spent = time.process_time() - before
    yield Row("status of it, which proves its answer anew", f"{spent:.1f} s", "≤ 1 s", spent <= 1.0)


def page_rows(folder: Path) -> Iterator[Row]:
    """The pages of a study of 20 000 arms without a model."""
    n_arms, n_perturbations, path = 20_000, 5, folder / "wide.db"
    generator = np.random.default_rng(1)
    names = [f"p{k}" for k in range(n_perturbations)]
    asked = sf.RobustProblem.from_lists(
        arms=[
            dict(zip("abcdefgh", row, strict=True)) for row in generator.normal(size=(n_arms, 8))
        ],
        perturbations=[{"name": name, "a": 0.1 * k} for k, name in enumerate(names)],
    )
    means = asked.parameters @ generator.normal(size=asked.parameters.shape[1])
    settings: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    with Study.create(path, asked, seed=1, **settings) as begun:
        result = begun.run(lambda pull: means[pull.pair] + 0.3 * pull.rng().normal(), "serial")
    before = time.process_time()
    with StudyReader(path) as reader:
        page = study_page(reader).encode()
    spent, size = time.process_time() - before, len(page) / 1e6
    what = f"{n_arms:,} arms × {n_perturbations}, {result.samples:,} pulls"
    yield Row(f"report of {what}", f"{spent:.1f} s", "≤ 15 s", spent <= 15)
    yield Row("the same: its size", f"{size:.1f} MB", "≤ 4 MB", size <= 4)
    app = make_app([path])
    warm_up(app)

    async def ask() -> int:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as reader:
            return (await reader.get("/study/1")).status_code

    before = time.process_time()
    answered = asyncio.run(ask()) == 200
    spent = time.process_time() - before
    shown = f"{spent:.1f} s" if answered else "no answer"
    yield Row("the same: its page of the dashboard", shown, "≤ 1 s", answered and spent <= 1)


def _used(before: float) -> tuple[float, float]:
    """Seconds of the processor since then, and the most memory so far in GB."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return time.process_time() - before, memory


def identified(n_arms: int, n_perturbations: int, dimension: int) -> tuple[int, float, float]:
    """Identify one of these arms with a model: pulls, seconds and GB."""
    generator, before = np.random.default_rng(1), time.process_time()
    arms = generator.normal(size=(n_arms, dimension))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    theta = generator.normal(size=dimension)
    theta /= np.linalg.norm(theta)
    features = np.repeat(arms, n_perturbations, axis=0)
    features += 0.05 * generator.normal(size=features.shape)
    asked = sf.RobustProblem.from_pairs(features, np.repeat(np.arange(n_arms), n_perturbations))
    simulator = sf.LinearSimulator(asked, theta, 0.1, seed=1)
    result = sf.identify(asked, simulator, delta=0.05, noise=sf.Gaussian(0.1), misfit=0.0)
    return result.samples, *_used(before)


def studied(path: Path, n_arms: int, n_perturbations: int) -> tuple[int, float, float]:
    """Make and run a study of these arms with a model: pulls, seconds and GB."""
    generator, before = np.random.default_rng(1), time.process_time()
    arms = np.repeat(np.arange(n_arms), n_perturbations)
    features = generator.normal(size=(n_arms, 10))[arms]
    features += 0.05 * generator.normal(size=features.shape)
    means = features @ np.ones(10)
    asked = sf.RobustProblem.from_pairs(features, arms)
    settings: dict[str, Any] = {"delta": 0.05, "noise": sf.Gaussian(1.0), "misfit": 0.0}
    with Study.create(path, asked, seed=1, **settings) as begun:
        result = begun.run(lambda pull: means[pull.pair] + pull.rng().normal(), "serial")
    return result.samples, *_used(before)


def large_rows(folder: Path) -> Iterator[Row]:
    """A million pairs, each in a process of its own, whose memory is counted."""
    asked = [
        ("identify, 1,000,000 pairs, d = 50", identified, (100_000, 10, 50), (180.0, 6.0)),
        ("a study of 100,000 arms × 10, d = 10", studied, (folder / "large.db", 100_000, 10), None),
    ]
    for words, work, arguments, most in asked:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            pulls, spent, memory = process.submit(work, *arguments).result()
        yield Row(
            f"{words}, {pulls:,} pulls",
            f"{spent:.0f} s, {memory:.1f} GB",
            "≤ 180 s, ≤ 6 GB" if most else "–",
            spent <= most[0] and memory <= most[1] if most else None,
        )


def rows() -> Iterator[Row]:
    yield from busy_rows()
    yield plan_row()
    yield cost_row()
    yield from forecast_rows()
    if not TIMES:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from asleep_rows(folder)
        yield share_row(folder)
        yield driver_row(folder)
        yield from million_rows(folder)
        yield from page_rows(folder)
        yield from large_rows(folder)
