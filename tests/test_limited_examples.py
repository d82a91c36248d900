"""Studies with limits, of foreign simulators: right by brute force, certified, verified."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from surefoot.study import verify
from surefoot.study.pull import PullFactory
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT

BLOCKS = 60  # pulls of every pair


@pytest.mark.parametrize("name", ["clinic", "cart", "insulin"])
def test_the_answer_is_right_by_brute_force_certified_and_verified(
    name: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples" / "limits", tmp_path / "limits")
    config = StudyConfig(tmp_path / "limits" / f"{name}.toml")
    with config.open_study() as study:
        result = study.run(config.simulator(study.problem), "serial")
    assert result.certified
    assert result.arm in right(config)
    assert verify(config.file).certified


def right(config: StudyConfig) -> list[int]:
    """Pull every pair many times; the arms that keep the limit and are best within the tolerance.

    Whoever keeps it, and whoever is best, is clear by far more than errors of the means.
    """
    problem, settings = config.problem(), config.settings
    simulate, make = config.simulator(problem), PullFactory(problem, "truth", 1)
    (limit,) = settings.limits
    pulls = [
        [simulate(make(block * problem.n_pairs + k, 0, k, block)) for k in range(problem.n_pairs)]
        for block in range(BLOCKS)
    ]
    objective, other = (
        np.array([[pull[name] for pull in block] for block in pulls]).mean(axis=0)
        for name in (settings.objective, limit.output)
    )
    sign = -1 if config.values.direction == "minimize" else 1
    values = problem.worst_of(sign * objective)
    margins = problem.worst_of(limit.sign * (other - limit.value))
    kept = margins >= 0
    assert 0 < kept.sum() < problem.n_arms  # the limit decides something
    best = values[kept].max()
    return np.flatnonzero(kept & (values >= best - settings.tolerance)).tolist()
