"""Seven functions that no linear model describes, through every Python door with its defaults.

`find`, `Study` and `study.toml` assume no model unless they are told to; `identify` asks. Each arm
and perturbation is a number, and rewards bend, jump, wave or depend on both together.

`python -m tests.test_doors 100` makes so many runs of each function by `find`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms import Result
from surefoot.study.toml.config import StudyConfig

DELTA, FALSE_ALARM, RUNS = 0.05, 1e-3, 2
SIZES, TROUBLE = (4.0, 6.0, 8.0, 10.0, 12.0, 14.0), (0.0, 1.5, 3.0)
ARMS = [{"size": size} for size in SIZES]
PERTURBATIONS = {f"by {by:g}": {"by": by} for by in TROUBLE}


def profit(size: float, by: float) -> float:
    return 5 * min(size, 10 + by) - 2 * size


def cliff(size: float, by: float) -> float:
    return size - 9.0 * (size + by > 9)


def peak(size: float, by: float) -> float:
    return 6 * math.exp(-((size - 7 - by) ** 2) / 8)


def queue(size: float, by: float) -> float:
    return -12 / max(size - by - 2.2, 0.4) - 1.2 * size


def wave(size: float, by: float) -> float:
    return 3 * math.sin(size / 2 + by / 4)


def either(size: float, by: float) -> float:
    return 3 * ((size > 7) == (by > 1)) + size / 4


def kink(size: float, by: float) -> float:
    return -abs(size - 7 + by)


FUNCTIONS = (profit, cliff, peak, queue, wave, either, kink)


def noisy(function: Callable[[float, float], float]) -> Callable[..., float]:
    """The function as a simulator; `kink` has skewed noise."""

    def simulate(size: float, by: float, rng: np.random.Generator) -> float:
        noise = rng.exponential() - 1 if function is kink else rng.normal()
        return function(size, by) + noise

    return simulate


def best(function: Callable[[float, float], float]) -> int:
    return int(np.argmax([min(function(size, by) for by in TROUBLE) for size in SIZES]))


def found(function: Callable[[float, float], float], seed: int) -> Result:
    return sf.find(
        noisy(function), ARMS, PERTURBATIONS, environment={"by": 0.0}, seed=seed, budget=5000
    ).result


def count(runs: int) -> dict[str, tuple[int, int]]:
    """Return how many runs of each function are certified, and how many of them wrong."""
    counts = {}
    for function in FUNCTIONS:
        results = [found(function, seed) for seed in range(1, runs + 1)]
        wrong = sum(result.certified and result.arm != best(function) for result in results)
        counts[function.__name__] = sum(result.certified for result in results), wrong
    return counts


@pytest.mark.statistical
def test_certified_answers_are_right_where_no_model_is() -> None:
    counts = count(RUNS)
    wrong = sum(wrong for _, wrong in counts.values())
    assert wrong <= stats.binom.isf(FALSE_ALARM, RUNS * len(FUNCTIONS), DELTA)
    assert sum(certified for certified, _ in counts.values()) >= RUNS * len(FUNCTIONS) - 1


def test_every_door_gives_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = found(profit, 1)
    problem = sf.RobustProblem.from_lists(ARMS, PERTURBATIONS, environment={"by": 0.0})
    asked: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(), "seed": 1, "budget": 5000}
    simulate = noisy(profit)
    with sf.Study.create(tmp_path / "study.db", problem, **asked) as study:
        by_hand = study.run(lambda pull: simulate(**pull.parameters, rng=pull.rng()), "serial")
    rows = ", ".join(f'{{ name = "{name}", by = {x["by"]} }}' for name, x in PERTURBATIONS.items())
    (tmp_path / "study.toml").write_text(
        f"delta = {DELTA}\nseed = 1\nbudget = 5000\nenvironment = {{ by = 0.0 }}\n"
        f"[arms]\ngrid = {{ size = {list(SIZES)} }}\n[perturbations]\nlist = [{rows}]\n"
        '[simulator]\npython = "bent:simulate"\n'
    )
    (tmp_path / "bent.py").write_text(
        "from tests.test_doors import noisy, profit\n\nsimulate = noisy(profit)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    config = StudyConfig(tmp_path / "study.toml")
    with config.open_study() as study:
        by_file = study.run(config.simulator(study.problem), "serial")
    assert answer.certified
    assert answer.sentence == by_hand.sentence == by_file.sentence
    assert answer.misfit == by_hand.misfit == by_file.misfit == math.inf
    with pytest.raises(sf.InputError, match="say how far rewards may be from a linear function"):
        sf.identify(problem, sf.TableSimulator(np.zeros(18)), delta=DELTA, noise=sf.Gaussian())


if __name__ == "__main__":
    for name, (certified, wrong) in count(int(sys.argv[1]) if sys.argv[1:] else 20).items():
        print(f"{name}: {certified} certified, {wrong} of them wrong", flush=True)
