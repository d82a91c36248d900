"""Algorithms with a linear model and valid thresholds, side by side: who is fastest where.

`SUREFOOT_BENCH_RUNS=20 python -m benchmarks baselines` takes fewer runs, for a first look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.contests import held
from benchmarks.linear import Modelled, Modelling
from benchmarks.table import Row
from surefoot.experiments.instances import Instance, classic, random_robust, unit_sphere
from surefoot.problem.problem import RobustProblem

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "100"))
DELTA = 0.05
NAMES = {
    "PRIME": "prime",
    "Robust LinGapE": "robust-lingape",
    "Robust Track-and-Stop": "robust-track-and-stop",
    "Robust Lazy Track-and-Stop": "robust-lazy-track-and-stop",
    "Robust LinGame": "robust-lingame",
    "Robust Frank–Wolfe sampling": "robust-frank-wolfe-sampling",
    "Robust RAGE": "robust-rage",
    "Robust Static": "robust-static",
}


def rows() -> Iterator[Row]:
    for name, instance in _instances():
        work = Modelled(instance, DELTA)
        cells = held([(work, Modelling(algorithm), RUNS) for algorithm in NAMES.values()])
        for label, cell in zip(NAMES, cells, strict=True):
            yield Row(f"valid thresholds, {name}: {label}", str(cell))


def _instances() -> Iterator[tuple[str, Instance]]:
    yield "the three controllers of the README", _controllers()
    yield "random robust, 8 arms in 5 dimensions", random_robust(8, 5, 5)
    yield "unit sphere 20", unit_sphere(20, rng=np.random.default_rng(20))
    yield "classic 6", classic(6)


def _controllers() -> Instance:
    arms = [[2.0, 0.0], [1.2, 1.0], [0.4, 1.6]]
    wear = [[[0, 0], [1.2, 0]], [[0, 0], [0.4, 0.2]], [[0, 0], [0.2, 0.8]]]
    return RobustProblem.paper(arms, wear), np.array([1.0, 0.6])
