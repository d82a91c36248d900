"""What the examples' simulators really do: every pair many times, with streams of no study.

python -m tests.truths clinic 100      writes tests/data/truths/clinic.json

An example is a folder with a `study.toml`, or a script that calls `find`.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import surefoot as sf
from surefoot.problem.problem import RobustProblem
from surefoot.study.programs.functions import Named
from surefoot.study.pull import PullFactory, Simulate
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT

SEED = 20_261_116
TRUTHS = ROOT / "tests" / "data" / "truths"


def question(name: str) -> tuple[RobustProblem, Simulate, int]:
    """The problem of an example, its simulator, and the sign of what it gives."""
    script = ROOT / "examples" / f"{name}.py"
    if not script.exists():
        config = StudyConfig(ROOT / "examples" / name / "study.toml")
        problem = config.problem()
        sign = 1 if config.values.direction == "maximize" else -1
        return problem, config.simulator(problem), sign

    simulate, arms, perturbations, asked = given_to_find(script)
    problem = RobustProblem.from_lists(arms, perturbations, environment=asked["environment"])
    sign = -1 if asked.get("minimize") else 1
    return problem, Named(simulate, problem.parameter_names), sign


def given_to_find(script: Path) -> tuple[Any, Any, Any, dict[str, Any]]:
    """What a script gives to `find`, which is not run."""
    given: list[Any] = []

    def find(simulate: Any, arms: Any, perturbations: Any, **asked: Any) -> str:
        given.extend([simulate, arms, perturbations, asked])
        return "not now"

    with mock.patch.object(sf, "find", find), contextlib.redirect_stdout(None):
        runpy.run_path(str(script))
    simulate, arms, perturbations, asked = given
    return simulate, arms, perturbations, asked


def worst_cases(name: str, repetitions: int) -> dict[str, dict[str, float]]:
    """Each arm's worst mean, and the standard error of its difference to the best arm's."""
    problem, simulate, sign = question(name)
    make = PullFactory(problem, "truth", SEED)
    rewards = np.array(
        [
            [simulate(make(0, 0, pair, block)) for pair in range(problem.n_pairs)]
            for block in range(repetitions)
        ]
    )
    worst = problem.worst_pairs_of(sign * rewards.mean(axis=0))
    values = rewards[:, worst]
    best = int(np.argmax(sign * values.mean(axis=0)))
    errors = (values - values[:, [best]]).std(axis=0, ddof=1) / np.sqrt(repetitions)
    return {
        arm: {"worst": float(mean), "error": float(error)}
        for arm, mean, error in zip(problem.arm_names, values.mean(axis=0), errors, strict=True)
    }


def main(name: str, repetitions: str) -> None:
    TRUTHS.mkdir(parents=True, exist_ok=True)
    made = f"python -m tests.truths {name} {repetitions}"
    truth = {"made by": made, "arms": worst_cases(name, int(repetitions))}
    Path(TRUTHS / f"{name}.json").write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
