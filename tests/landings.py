"""Landings of the example with a lunar lander, for a machine that has Box2D.

python -m tests.landings 250      writes tests/data/truths/lander.json: every pair 250 times, with
                                  streams of no study
"""

from __future__ import annotations

import json
import sys

import numpy as np

from surefoot.study.pull import PullFactory
from surefoot.study.toml.config import StudyConfig
from tests.documents import ROOT

EXAMPLE = ROOT / "examples" / "limits" / "lander.toml"
RECORDED = ROOT / "tests" / "data" / "truths" / "lander.json"


def landings() -> dict[str, np.ndarray]:
    """Return the recorded outputs by name, (n_pairs, n_landings) each."""
    return {name: np.array(each) for name, each in json.loads(RECORDED.read_text()).items()}


def record(repetitions: int) -> None:
    """Land everything many times, and keep both outputs."""
    config = StudyConfig(EXAMPLE)
    problem = config.problem()
    simulate, make = config.simulator(problem), PullFactory(problem, "truth", 1)
    n = problem.n_pairs
    found = [
        [simulate(make(block * n + k, 0, k, block)) for k in range(n)]
        for block in range(repetitions)
    ]
    kept = {
        name: [[round(float(block[k][name]), 2) for block in found] for k in range(n)]
        for name in ("fuel", "landed")
    }
    RECORDED.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    record(int(sys.argv[1]))
