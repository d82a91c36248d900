"""Simulators that were not written for surefoot: what the examples cost as they stand, and what
they would cost in the plainest manner: with tabular features, one unknown noise level and no common
random numbers.

`SUREFOOT_BENCH_RUNS=1 python -m benchmarks foreign` takes one seed, for a first look.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.spread import spread
from benchmarks.table import Row
from surefoot.algorithms import Result
from surefoot.study.toml.config import StudyConfig

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "5"))
EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = ("clinic", "cartpole", "models", "simopt_inventory")
PLAINLY = (
    'features = "tabular"',
    "misfit = 0",
    'noise = { kind = "gaussian", equal = true }',
    'on_misfit = "ignore"',
    "common_random_numbers = false",
    "budget = 50000",
)


def rows() -> Iterator[Row]:
    jobs = [
        (name, seed, plainly) for name in NAMES for plainly in (False, True) for seed in _seeds()
    ]
    pulls = dict(zip(jobs, spread(_pulls, jobs), strict=True))
    for name in NAMES:
        standing, plain = (
            np.array([pulls[name, seed, manner] for seed in _seeds()], dtype=float)
            for manner in (False, True)
        )
        ratio = standing.mean() / plain.mean()
        yield Row(
            f"examples/{name}: pulls as it stands / in the plainest manner",
            f"{ratio:.2f} ({standing.mean():,.0f} / {plain.mean():,.0f}, {RUNS} seeds)",
            "≤ 0.5",
            bool(ratio <= 0.5),
        )


def _seeds() -> range:
    return range(1, RUNS + 1)


def _pulls(name: str, seed: int, plainly: bool) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copytree(EXAMPLES / name, Path(folder) / name)) / "study.toml"
        said = (f"seed = {seed}", *(PLAINLY if plainly else ()))
        path.write_text(_with(path.read_text(encoding="utf-8"), said), encoding="utf-8")
        return _run(path).samples


def _with(text: str, said: tuple[str, ...]) -> str:
    """A configuration with other lines before its first section."""
    keys = {line.split(" = ")[0] for line in said}
    top, *sections = text.split("\n[", 1)
    kept = [line for line in top.splitlines() if line.split(" = ")[0] not in keys]
    return "\n[".join(("\n".join((*said, *kept)), *sections))


def _run(path: Path) -> Result:
    config = StudyConfig(path)
    with config.open_study() as study:
        return study.run(config.simulator(study.problem), "serial")
