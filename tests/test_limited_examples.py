"""Studies with limits, of foreign simulators: right by brute force, certified, verified."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from surefoot.study import verify
from surefoot.study.pull import Pull, PullFactory
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT
from tests.landings import EXAMPLE, landings

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


def test_a_lander_is_found_on_landings_that_were_recorded(tmp_path: Path) -> None:
    """The tests do without Box2D: each pull is one of the landings that `tests.landings` kept."""
    shutil.copytree(EXAMPLE.parent, tmp_path / "limits")
    config, seen = StudyConfig(tmp_path / "limits" / EXAMPLE.name), landings()
    number = len(seen["fuel"][0])

    def land(pull: Pull) -> dict[str, float]:
        which = pull.rng().integers(number)
        return {name: float(each[pull.pair, which]) for name, each in seen.items()}

    with config.open_study() as study:
        result = study.run(land, "serial")
    problem, settings = config.problem(), config.settings
    (limit,) = settings.limits
    margins = problem.worst_of(seen["landed"].mean(axis=1) - limit.value)
    fuel = -problem.worst_of(-seen["fuel"].mean(axis=1))
    kept = margins >= 0
    assert 0 < kept.sum() < problem.n_arms
    assert fuel.argmin() not in np.flatnonzero(kept)  # who lands on least fuel often crashes
    assert result.certified
    assert margins[result.arm] >= -limit.slack
    assert fuel[result.arm] <= fuel[kept].min() + settings.tolerance
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
