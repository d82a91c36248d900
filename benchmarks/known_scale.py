"""A known noise scale and a trusted model: the constants of version 0.1 beside those of today,
with the same seeds.

`SUREFOOT_BENCH_RUNS=40 python -m benchmarks known-scale` takes fewer runs, for a first look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.contests import Ratio, held
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
    for name, today, before in zip(works, cells[::2], cells[1::2], strict=True):
        yield Row(f"known scale, {name}: today", str(today))
        yield Row(f"known scale, {name}: constants of 0.1", str(before))
    ratio = Ratio.of(cells[::2], cells[1::2])
    yield Row(
        "known scale: samples today / with the constants of 0.1, geometric mean",
        str(ratio),
        "≤ 1, within two standard errors",
        ratio.mean - 2 * ratio.error <= 1,
    )


def _instances() -> Iterator[tuple[str, Instance]]:
    for d in (5, 10, 20, 30):
        yield f"irrelevant dimensions {d}", irrelevant_dimensions(d)
    for n in (10, 20, 50, 100):
        yield f"unit sphere {n}", unit_sphere(n, rng=np.random.default_rng(n))
    yield "classic 6", classic(6)
