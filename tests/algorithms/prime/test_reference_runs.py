"""Runs of version 0.1.0, to the digit: whatever is rearranged, PRIME pulls as it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surefoot as sf
from surefoot.algorithms.prime import schedule
from surefoot.experiments.instances import irrelevant_dimensions, random_robust, unit_sphere

RUNS = json.loads((Path(__file__).parents[2] / "data" / "prime_runs.json").read_text())
FAMILIES = {
    "irrelevant dimensions": irrelevant_dimensions,
    "unit sphere": lambda size: unit_sphere(size, 6),
    "random robust": lambda size: random_robust(size, 6, 4),
}
NOISES = {
    "known": sf.Gaussian(1.0),
    "unknown": sf.Gaussian(),
    "sub-gaussian": sf.SubGaussian(1.0),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("family", FAMILIES)
def test_runs_are_those_of_0_1_0(family: str, noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [run for run in RUNS if (run["family"], run["noise"]) == (family, noise)]
    for run in chosen:
        monkeypatch.setattr(schedule, "LOOKS", run.get("looks", 70))
        assert repeated(run) == run


def repeated(run: dict[str, Any]) -> dict[str, Any]:
    """The run once more, with what it ends in now."""
    problem, theta = FAMILIES[run["family"]](run["size"])
    result = sf.identify(
        problem,
        sf.LinearSimulator(problem, theta, seed=run["seed"]),
        delta=0.05,
        noise=NOISES[run["noise"]],
        tolerance=run["tolerance"],
    )
    return run | {"arm": result.arm, "samples": result.samples, "phases": len(result.history)}
