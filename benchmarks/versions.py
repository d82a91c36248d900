"""How many samples this planner needs beside another version's, run for run, on fresh seeds.

`SUREFOOT_BENCH_OTHER=/path/to/another/src python -m benchmarks versions` needs that other version's
sources; `SUREFOOT_BENCH_FAMILIES` is a regular expression that chooses families, and
`SUREFOOT_BENCH_RUNS` the number of runs of each. What was run once is kept in results/versions/ by
`SUREFOOT_BENCH_LABELS`, the names of the two versions (`this,other`), for as long as these stand.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import surefoot as sf
from surefoot.experiments.instances import classic, irrelevant_dimensions, unit_sphere

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "200"))
PROCESSES = int(os.environ.get("SUREFOOT_BENCH_PROCESSES", "2"))
SEED, DELTA, CHUNK, LEVEL = 7411, 0.05, 25, 0.01
HERE = Path(__file__).resolve().parents[1]
LONG = 3.0  # medians beyond which a run counts as long

Array = Any
Drawn = tuple[Any, Array, Array, dict[str, Any], dict[str, Any]]
Family = Callable[[np.random.Generator], Drawn]


def _modelled(make: Callable[[np.random.Generator], Any], **options: Any) -> Family:
    """Return a family of problems with a true θ, and noise of deviation 1."""

    def drawn(rng: np.random.Generator) -> Drawn:
        problem, theta = make(rng)
        means = np.asarray(problem.pair_means(theta))
        told = {"noise": sf.Gaussian(1.0), "misfit": 0.0} | options
        return problem, means, np.ones(len(means)), told, {}

    return drawn


def _boxes(dimension: int, n_arms: int, ratio: float, size: float, **options: Any) -> Family:
    """Return arms in a cube with boxes round them; levels that differ by a factor, untold."""

    def drawn(rng: np.random.Generator) -> Drawn:
        arms = rng.uniform(-1, 1, (n_arms, dimension))
        radii = np.zeros((n_arms, dimension))
        radii[:, :3] = rng.uniform(0.05, 0.3, (n_arms, 3))
        problem = sf.RobustProblem.from_boxes(arms, radii)
        theta = rng.normal(size=dimension)
        means = np.asarray(problem.pair_means(theta / np.linalg.norm(theta)))
        scales = size * ratio ** rng.uniform(-0.5, 0.5, len(means))
        return problem, means, scales, {"noise": sf.Gaussian(), "misfit": 0.0} | options, {}

    return drawn


def _table(means: Array, scales: Array, shape: dict[str, Any] | None = None, **options: Any) -> Any:
    arms = np.repeat(np.arange(len(means)), means.shape[1])
    problem = sf.RobustProblem.from_pairs(np.eye(means.size), arms)
    told = {"noise": sf.Gaussian(), "misfit": math.inf} | options
    return problem, means.ravel(), np.broadcast_to(scales, means.shape).ravel(), told, shape or {}


def _slippage(kind: str, scales: str = "equal", shape: Any = None, **options: Any) -> Family:
    costs = np.zeros((10, 5))
    if kind == "SC":
        costs[1:, 0] = 1.0
    elif kind == "SC2":
        costs[1:] = 1.0
    else:
        costs = np.arange(10)[:, None] - 0.4 * np.arange(5)[None, :]
    deviations = np.full((10, 5), 2.0)
    if scales == "unequal":
        deviations = np.sqrt(np.linspace(1, 7, 50).reshape(10, 5))
    return lambda rng: _table(-costs, deviations, shape, **options)


def _random_table(rng: np.random.Generator) -> Drawn:
    means = rng.normal(size=(7, 3))
    found: Drawn = _table(means, rng.uniform(0.5, 2.0, means.shape), tolerance=0.3)
    return found


def _game(means: list[list[float]], **options: Any) -> Family:
    told = {"noise": sf.Bounded(0, 1)} | options
    return lambda rng: _table(np.array(means), 1.0, {"family": "bernoulli"}, **told)


def _parabola(features: str, **options: Any) -> Family:
    arms = np.linspace(0.2, 1.4, 7)
    x = (arms[:, None] + np.array([0.1, -0.1])).ravel()
    means, n = 2.0 * x - 1.5 * x**2, len(x)
    problem = sf.RobustProblem.from_pairs(x[:, None], np.repeat(np.arange(7), 2), features=features)
    told = {"noise": sf.Gaussian(0.3), "budget": 100_000} | options
    return lambda rng: (problem, means, np.full(n, 0.3), told, {})


def _bent(misfit: float, **options: Any) -> Family:
    """Return spheres whose means stray from the model by up to the misfit that is stated."""

    def drawn(rng: np.random.Generator) -> Drawn:
        problem, theta = unit_sphere(15, 6, rng=rng)
        means = np.asarray(problem.pair_means(theta))
        means = means + misfit * rng.uniform(-1, 1, len(means))
        told = {"noise": sf.Gaussian(1.0), "misfit": misfit, "budget": 1_000_000} | options
        return problem, means, np.ones(len(means)), told, {}

    return drawn


def _smooth(guide: str) -> Family:
    grid = np.meshgrid(np.linspace(0, 1, 10), np.linspace(0, 1, 5), indexing="ij")
    x = np.column_stack([axis.ravel() for axis in grid])
    squared = ((x[:, None] - x) ** 2).sum(axis=-1)
    root = np.linalg.cholesky(np.exp(-squared / 2 / 0.35**2) + 1e-8 * np.eye(len(x)))
    arms = np.repeat(np.arange(10), 5)
    problem = sf.RobustProblem.from_pairs(x, arms, features="quadratic")
    told = {"noise": sf.Gaussian(), "misfit": math.inf, "tolerance": 0.2, "guide": guide}
    return lambda rng: (problem, root @ rng.standard_normal(50), np.ones(50), told, {})


def _told(level: float, noisy: bool, misfit: float) -> Family:
    """Return a table in which the best arm's pairs are ten times as noisy as others, or quieter."""
    means = np.array([0.0, 0.5, -1.0, 0.0, -1.5, -0.5])
    scales = np.where((np.arange(6) < 2) == noisy, level, level / 10)
    problem = sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
    told = {"noise": sf.Gaussian(), "misfit": misfit}
    return lambda rng: (problem, means, scales, told, {})


GAMES = {
    "1": [[0.4, 0.5], [0.3, 0.35]],
    "2": [[0.4, 0.5], [0.3, 0.45]],
    "3": [[0.45, 0.5, 0.55], [0.35, 0.4, 0.6], [0.3, 0.47, 0.52]],
}
EQUAL, UNKNOWN = sf.Gaussian(equal=True), sf.Gaussian()
ZONE = {"tolerance": 0.999}
FAMILIES: dict[str, Family] = {
    "model: irrelevant dimensions 10": _modelled(lambda rng: irrelevant_dimensions(10)),
    "model: classic 6": _modelled(lambda rng: classic(6)),
    "model: sphere 20": _modelled(lambda rng: unit_sphere(20, rng=rng)),
    "model: sphere 50": _modelled(lambda rng: unit_sphere(50, rng=rng)),
    "model: sphere 20, sub-Gaussian": _modelled(
        lambda rng: unit_sphere(20, rng=rng), noise=sf.SubGaussian(1.0)
    ),
    "model, tolerance 0.1: sphere 20": _modelled(
        lambda rng: unit_sphere(20, rng=rng), tolerance=0.1
    ),
    "model, equal=True: sphere 20": _modelled(lambda rng: unit_sphere(20, rng=rng), noise=EQUAL),
    "model, equal=True: irrelevant dimensions 10": _modelled(
        lambda rng: irrelevant_dimensions(10), noise=EQUAL
    ),
    "model, Gaussian(): sphere 20": _modelled(lambda rng: unit_sphere(20, rng=rng), noise=UNKNOWN),
    "model, Gaussian(): classic 6": _modelled(lambda rng: classic(6), noise=UNKNOWN),
    "model, Gaussian(): boxes 15 × 8, levels 1:4": _boxes(5, 15, 4.0, 1.0, tolerance=0.15),
    "misfit 0.005: parabola": _parabola("quadratic", misfit=0.005),
    "misfit 0.005: parabola, Gaussian()": _parabola("quadratic", misfit=0.005, noise=UNKNOWN),
    "misfit 0.2: parabola, linear": _parabola("linear", misfit=0.2),
    "misfit 0.02: sphere 15, d = 6": _bent(0.02),
    "misfit 0.02: sphere 15, d = 6, Gaussian()": _bent(0.02, noise=UNKNOWN),
    "pairs: parabola": _parabola("quadratic", misfit=math.inf),
    "pairs: SC": _slippage("SC"),
    "pairs: SC2": _slippage("SC2"),
    "pairs: MM": _slippage("MM"),
    "pairs: MM, unequal": _slippage("MM", "unequal"),
    "pairs, tolerance: SC": _slippage("SC", **ZONE),
    "pairs, tolerance: SC2": _slippage("SC2", **ZONE),
    "pairs, tolerance: MM": _slippage("MM", **ZONE),
    "pairs, streams 0.8: SC2": _slippage(
        "SC2", shape={"correlation": 0.8}, common_random_numbers="auto", **ZONE
    ),
    "pairs, tolerance: random 7 × 3": _random_table,
    "pairs, σ given: SC2": _slippage("SC2", noise=sf.Gaussian(2.0)),
    "pairs, equal=True: MM": _slippage("MM", noise=EQUAL),
    "pairs, tolerance: smooth 10 × 5, trend": _smooth("trend"),
    "pairs, tolerance: smooth 10 × 5, tabular": _smooth("tabular"),
    "games: 1, δ = 0.1": _game(GAMES["1"], delta=0.1),
    "games: 2, δ = 0.001": _game(GAMES["2"], delta=0.001),
    "games: 3, δ = 0.1": _game(GAMES["3"], delta=0.1),
    "levels 3 and 0.3, best noisy, model": _told(3.0, True, 0.0),
    "levels 3 and 0.3, best noisy, pairs": _told(3.0, True, math.inf),
    "levels 6 and 0.6, best quiet, pairs": _told(6.0, False, math.inf),
}


def one_run(family: str, run: int) -> tuple[int, bool, bool, float]:
    """Return pulls, whether it was certified, whether wrongly, and seconds of a run."""
    key = (list(FAMILIES).index(family), run)
    shape, noise = np.random.SeedSequence(SEED, spawn_key=key).spawn(2)
    problem, means, scales, told, how = FAMILIES[family](np.random.default_rng(shape))
    simulator = sf.TableSimulator(means, scales, noise, **how)
    options = {"delta": DELTA} | told
    if "trust" in inspect.signature(sf.identify).parameters and math.isinf(options["misfit"]):
        options = {k: v for k, v in options.items() if k != "misfit"} | {"trust": "pairs"}
    began = time.process_time()
    result = sf.identify(problem, simulator, **options)
    spent = time.process_time() - began
    values = np.array([means[problem.arm_of_pair == arm].min() for arm in range(problem.n_arms)])
    wrong = result.certified and values[result.arm] < values.max() - options.get("tolerance", 0.0)
    return result.samples, bool(result.certified), bool(wrong), spent


def rows() -> Iterator[Any]:
    from benchmarks.table import Row

    other = os.environ.get("SUREFOOT_BENCH_OTHER")
    if not other:
        yield Row("samples / another version", "not run: set SUREFOOT_BENCH_OTHER to its sources")
        return
    labels = os.environ.get("SUREFOOT_BENCH_LABELS", ",").split(",")
    wanted = re.compile(os.environ.get("SUREFOOT_BENCH_FAMILIES", ""))
    logs = []
    for family in [name for name in FAMILIES if wanted.search(name)]:
        mine = runs_of(family, str(HERE / "src"), labels[0])
        theirs = runs_of(family, other, labels[1])
        ratio, error = _ratio(mine[:, 0], theirs[:, 0])
        logs.append(math.log(ratio))
        yield Row(
            f"samples / {labels[1] or 'the other version'}, {family}",
            f"{ratio:.3f} ± {error:.3f} ({_said(mine)} / {_said(theirs)})",
            "≤ 1.03 + 2 s.e., errors ≤ δ",
            ratio <= 1.03 + 2 * error and not _rejected(mine),
        )
    yield Row("geometric mean over these families", f"{math.exp(np.mean(logs)):.3f}", "≤ 0.95")


def _ratio(mine: Array, theirs: Array) -> tuple[float, float]:
    """Return the ratio of means, and its standard error: runs of one seed belong together."""
    ratio = mine.mean() / theirs.mean()
    differences = mine / mine.mean() - theirs / theirs.mean()
    return float(ratio), float(ratio * differences.std(ddof=1) / math.sqrt(len(mine)))


def _said(runs: Array) -> str:
    samples, certified, wrong, spent = runs.T
    far = float((samples > LONG * np.median(samples)).mean())
    return (
        f"{samples.mean():,.0f}, wrong {wrong.sum():g}, open {len(runs) - certified.sum():g}, "
        f"long {100 * far:.1f} %, {1000 * spent.mean():.0f} ms"
    )


def _rejected(runs: Array) -> bool:
    return bool(stats.binom.sf(runs[:, 2].sum() - 1, len(runs), 2 * DELTA) < LEVEL)


def runs_of(family: str, src: str, label: str = "", runs: int = RUNS) -> Array:
    """Return (n_runs, 4) what `one_run` says, by the sources in that folder."""
    kept = HERE / "results" / "versions" / f"{label}-{list(FAMILIES).index(family)}.json"
    found = json.loads(kept.read_text()) if label and kept.exists() else []
    with ThreadPoolExecutor(PROCESSES) as pool:
        parts = [(k, min(k + CHUNK, runs)) for k in range(len(found), runs, CHUNK)]
        for part in pool.map(lambda part: _part(family, src, *part), parts):
            found += part
    if label and parts:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    return np.array(found[:runs], dtype=np.float64)


def _part(family: str, src: str, first: int, last: int) -> Any:
    """Run in a process of its own, with these sources."""
    program = (
        "import json; from benchmarks.versions import one_run; "
        f"print(json.dumps([one_run({family!r}, run) for run in range({first}, {last})]))"
    )
    environment = os.environ | {"PYTHONPATH": f"{src}{os.pathsep}{HERE}"}
    done = subprocess.run(
        ["nice", "-n", "5", sys.executable, "-c", program],
        env=environment,
        cwd=src,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{family} by {src}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
