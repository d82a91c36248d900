"""How long `surefoot verify` takes, and how large the files are that it checks."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.table import Row
from surefoot import Gaussian, RobustProblem, verify
from surefoot.arrays import Array
from surefoot.study import Study


def studied(path: Path, means: Array, budget: int) -> Study:
    """Make a study of (n_arms, n_perturbations) means without a model, and pull it to its end."""
    arms, perturbations = (np.arange(size, dtype=np.float64)[:, None] for size in means.shape)
    problem = RobustProblem.paper(arms, [perturbations] * len(arms))
    rng, flat = np.random.default_rng(np.random.SeedSequence(1)), means.ravel()
    study = Study.create(
        path, problem, delta=0.05, noise=Gaussian(), misfit=math.inf, budget=budget, seed=1
    )
    with study:
        while pulls := study.ask(budget):
            rewards = flat[[pull.pair for pull in pulls]] + rng.standard_normal(len(pulls))
            study.tell_many([(pull.id, y) for pull, y in zip(pulls, rewards.tolist(), strict=True)])
    return study


def checked(path: Path, words: str, most: float, largest: float) -> Iterator[Row]:
    """Check a study, and weigh its file."""
    found = verify(path)
    assert found.intact
    words = f"{words}, {found.pulls} pulls in {found.phases} phases"
    begun = time.process_time()
    verify(path)
    spent, size = time.process_time() - begun, path.stat().st_size / 1e6
    yield Row(f"{words}: verify, CPU time", f"{spent:.1f} s", f"≤ {most:g} s", spent <= most)
    yield Row(f"{words}: file", f"{size:.0f} MB", f"≤ {largest:g} MB", size <= largest)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        tie, rng = Path(name) / "tie.db", np.random.default_rng(np.random.SeedSequence(2))
        studied(tie, np.zeros((10, 5)), 1_000_000)
        yield from checked(tie, "10 arms × 5 at a tie", 3, 100)
        large = Path(name) / "large.db"
        means = rng.standard_normal((20_000, 1)) + 0.3 * rng.standard_normal((20_000, 5))
        studied(large, means, 10_000_000)
        yield from checked(large, "20 000 arms × 5", 10, 60)
