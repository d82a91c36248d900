"""A known noise scale and a trusted model: the constants of version 0.1 beside those of today,
with the same seeds.

`SUREFOOT_BENCH_RUNS=40 python -m benchmarks known-scale` takes fewer runs, for a first look.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np

from benchmarks.contests import Cell, held
from benchmarks.linear import Modelled, Modelling
from benchmarks.table import Row
from surefoot.algorithms.prime import Prime, Tuning
from surefoot.experiments.instances import Instance, classic, irrelevant_dimensions, unit_sphere

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "400"))
DELTA = 0.05
TODAY, BEFORE = Modelling(), Modelling(Prime(tuning=Tuning.of_version_0_1()))


def rows() -> Iterator[Row]:
    works = {name: Modelled(instance, DELTA) for name, instance in _instances()}
    jobs = [(work, manner, RUNS) for work in works.values() for manner in (TODAY, BEFORE)]
    cells = held(jobs)
    pairs = list(zip(cells[::2], cells[1::2], strict=True))
    for name, (today, before) in zip(works, pairs, strict=True):
        yield Row(f"known scale, {name}: today", str(today))
        yield Row(f"known scale, {name}: constants of 0.1", str(before))
    yield _no_worse(pairs)


def _instances() -> Iterator[tuple[str, Instance]]:
    for d in (5, 10, 20, 30):
        yield f"irrelevant dimensions {d}", irrelevant_dimensions(d)
    for n in (10, 20, 50, 100):
        yield f"unit sphere {n}", unit_sphere(n, rng=np.random.default_rng(n))
    yield "classic 6", classic(6)


def _no_worse(pairs: list[tuple[Cell, Cell]]) -> Row:
    """The geometric mean of the ratios of mean samples, and its standard error."""
    ratios, errors = zip(*(today.over(before) for today, before in pairs), strict=True)
    mean = math.exp(float(np.mean(np.log(ratios))))
    error = mean * math.hypot(*(e / r for e, r in zip(errors, ratios, strict=True))) / len(ratios)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return Row(
        "known scale: samples today / with the constants of 0.1, geometric mean",
        f"{mean:.3f} ± {error:.3f} ({each})",
        "≤ 1, within two standard errors",
        mean - 2 * error <= 1,
    )
