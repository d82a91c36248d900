"""What a wrong model costs: the parabola of the guide on misfit, by every way of dealing with it.

The method was developed on this parabola, with other seeds than these: its rows are optimistic.
`SUREFOOT_BENCH_RUNS=20` takes a tenth of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.model_free import DELTA, LEVEL, RUNS, Array, Case, World, parabola, runs_of
from benchmarks.table import Row
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem

EXACT = {"misfit": 0.0, "noise": Gaussian(0.3), "budget": 100_000}
PAPER = EXACT | {"rules": "paper"}
# what is tried, its features, its settings; errors of those that trust too much have no target
CONTENDERS: list[tuple[str, str, dict[str, Any], float | None]] = [
    ("Robust RAGE (paper), linear", "linear", PAPER | {"algorithm": "robust-rage"}, None),
    ("Robust RAGE (paper), quadratic", "quadratic", PAPER | {"algorithm": "robust-rage"}, np.inf),
    ("Robust Static (paper), linear", "linear", PAPER | {"algorithm": "robust-static"}, None),
    ("PRIME, linear", "linear", EXACT, None),
    ("PRIME, quadratic", "quadratic", EXACT, np.inf),
    ("PRIME, quadratic, misfit 0.005", "quadratic", EXACT | {"misfit": 0.005}, 900),
    ("PRIME, quadratic, misfit 0.005, σ unknown", "quadratic",
     EXACT | {"misfit": 0.005, "noise": Gaussian()}, np.inf),
    ("PRIME, linear, misfit 0.2", "linear", EXACT | {"misfit": 0.2}, np.inf),
    ("PRIME, pairs", "quadratic", EXACT | {"misfit": math.inf}, np.inf),
]  # fmt: skip
CORNER = 0.02  # with deviations of this size two arms of the parabola tie


def rows() -> Iterator[Row]:
    for name, features, options, most in CONTENDERS:
        case = Case(lambda seed, kind=features: bent(kind), options)
        yield _row(f"parabola: {name}", runs_of(case), most)
    for told, noise in (("σ given", Gaussian(0.3)), ("nothing known", Gaussian())):
        options = EXACT | {"noise": noise, "misfit": CORNER, "budget": 3000}
        yield _corner(told, Case(lambda seed: just_below_a_tie(), options))


def bent(features: str) -> World:
    """The parabola with these features."""
    return replace(parabola(0), features=features)


def just_below_a_tie() -> World:
    """Every mean of the parabola moved by ±0.02, as misleads least squares most; what it then calls
    best is worse than another arm by a millionth.
    """
    world = bent("quadratic")
    problem, means = world.problem, world.means.ravel()
    own, other = problem.worst_pair(2, means), problem.worst_pair(3, means)
    strayed = _contrast(problem, own, other)
    moved = means + CORNER * np.sign(strayed)
    moved[own] -= 1e-6
    return replace(world, means=moved.reshape(world.means.shape))


def _contrast(problem: RobustProblem, own: int, other: int) -> Array:
    """Where a deviation adds to the contrast of the two that least squares makes."""
    hat = problem.pairs @ np.linalg.pinv(problem.pairs)
    unit = np.eye(problem.n_pairs)
    return np.asarray(hat[own] - hat[other] - unit[own] + unit[other])


def _row(work: str, found: tuple[Array, Array, Array], most: float | None) -> Row:
    samples, certified, wrong = found
    errors, n_runs = int(wrong.sum()), len(samples)
    sound = stats.binom.sf(errors - 1, n_runs, DELTA) >= LEVEL
    spread = samples.std(ddof=1) / np.sqrt(n_runs)
    limit = f"≤ {most:,.0f} pulls, " if most and np.isfinite(most) else ""
    return Row(
        work,
        f"{samples.mean():,.0f} ± {spread:,.0f} pulls; certified {int(certified.sum())} "
        f"of {n_runs}, of these wrong {errors}",
        "none: it relies on a model that is wrong"
        if most is None
        else f"{limit}errors ≤ {DELTA:g}",
        None if most is None else bool(samples.mean() <= most and sound),
    )


def _corner(told: str, case: Case) -> Row:
    _, _, wrong = runs_of(case, RUNS)
    errors = int(wrong.sum())
    return Row(
        f"misfit 0.02 at the worst corner, all but a tie, {told}",
        f"{errors} of {len(wrong)} wrong",
        f"exact test cannot reject ≤ {DELTA:g}",
        bool(stats.binom.sf(errors - 1, len(wrong), DELTA) >= LEVEL),
    )
