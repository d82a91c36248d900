"""What the examples' simulators really do: every pair many times, with streams of no study.

python -m tests.truths clinic 100      writes tests/data/truths/clinic.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from surefoot.study.pull import PullFactory
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT

SEED = 20_261_116
TRUTHS = ROOT / "tests" / "data" / "truths"


def worst_cases(name: str, repetitions: int) -> dict[str, dict[str, float]]:
    """Each arm's worst mean, and the standard error of its difference to the best arm's."""
    config = StudyConfig(ROOT / "examples" / name / "study.toml")
    problem = config.problem()
    simulate, make = config.simulator(problem), PullFactory(problem, "truth", SEED)
    sign = 1 if config.values.direction == "maximize" else -1
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
