"""Seven functions that no linear model describes, through every Python door with its defaults.

`find`, `Study` and `study.toml` assume no model unless they are told to; `identify` asks, and is
told that there is none. Each arm and perturbation is a number, and rewards bend, jump, wave or
depend on both together.

`python -m tests.test_doors 100` makes so many runs of each function through each door, and prints
how many certified answers were wrong, with exact limits.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms import Result
from surefoot.statistics import Outcome, Phase
from surefoot.study.toml.config import StudyConfig

DELTA, FALSE_ALARM, RUNS, BUDGET = 0.05, 1e-3, 1, 5000
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


FUNCTIONS = {each.__name__: each for each in (profit, cliff, peak, queue, wave, either, kink)}


def simulate(bent: str, size: float, by: float, rng: np.random.Generator) -> float:
    """One of the functions, with noise; that of `kink` is skewed."""
    noise = rng.exponential() - 1 if bent == "kink" else rng.normal()
    return FUNCTIONS[bent](size, by) + noise


def values_of(bent: str) -> list[float]:
    """The worst case of each arm."""
    return [min(FUNCTIONS[bent](size, by) for by in TROUBLE) for size in SIZES]


def environment(bent: str) -> dict[str, Any]:
    return {"by": 0.0, "bent": bent}


def by_find(bent: str, seed: int, folder: Path) -> Result:
    asked: dict[str, Any] = {"environment": environment(bent), "seed": seed, "budget": BUDGET}
    return sf.find(simulate, ARMS, PERTURBATIONS, **asked).result


def by_study(bent: str, seed: int, folder: Path) -> Result:
    problem = sf.RobustProblem.from_lists(ARMS, PERTURBATIONS, environment=environment(bent))
    asked: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(), "seed": seed, "budget": BUDGET}
    with sf.Study.create(folder / f"{bent}{seed}.db", problem, **asked) as study:
        return study.run(lambda pull: simulate(**pull.parameters, rng=pull.rng()), "serial")


def by_toml(bent: str, seed: int, folder: Path) -> Result:
    rows = ", ".join(f'{{ name = "{name}", by = {x["by"]} }}' for name, x in PERTURBATIONS.items())
    file = folder / f"{bent}{seed}.toml"
    file.write_text(
        f'file = "{bent}{seed}-toml.db"\n'
        f"delta = {DELTA}\nseed = {seed}\nbudget = {BUDGET}\n"
        f'environment = {{ by = 0.0, bent = "{bent}" }}\n'
        f"[arms]\ngrid = {{ size = {list(SIZES)} }}\n[perturbations]\nlist = [{rows}]\n"
        '[simulator]\npython = "tests.test_doors:simulate"\n'
    )
    config = StudyConfig(file)
    with config.open_study() as study:
        return study.run(config.simulator(study.problem), "serial")


class Phases:
    """The same simulator for `identify`, which pulls phases."""

    def __init__(self, problem: sf.RobustProblem, seed: int) -> None:
        self.problem, self.rng = problem, np.random.default_rng(seed)

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(self.problem.n_pairs), phase.counts)
        given = [self.problem.values_of(pair) for pair in range(self.problem.n_pairs)]
        rewards = np.array([simulate(**given[pair], rng=self.rng) for pair in pairs])
        return Outcome.from_rewards(phase, self.problem.n_pairs, pairs, rewards)


def by_identify(bent: str, seed: int, folder: Path) -> Result:
    problem = sf.RobustProblem.from_lists(ARMS, PERTURBATIONS, environment=environment(bent))
    asked: dict[str, Any] = {"delta": DELTA, "noise": sf.Gaussian(), "budget": BUDGET}
    return sf.identify(problem, Phases(problem, seed), misfit=math.inf, **asked)


Door = Callable[[str, int, Path], Result]
DOORS: dict[str, Door] = {
    "find": by_find,
    "Study": by_study,
    "study.toml": by_toml,
    "identify": by_identify,
}


def count(door: str, bent: str, runs: int, folder: Path) -> tuple[int, int]:
    """Return how many runs are certified, and how many of them wrong; doors have their own seeds"""
    first, best = 1 + 1000 * list(DOORS).index(door), int(np.argmax(values_of(bent)))
    results = [DOORS[door](bent, first + run, folder) for run in range(runs)]
    assert all(result.misfit == math.inf for result in results)
    certified = [result for result in results if result.certified]
    return len(certified), sum(result.arm != best for result in certified)


def allowed(runs: int) -> int:
    """Wrong ones of so many runs that a right procedure exceeds in one of 1 000 cases."""
    return int(stats.binom.isf(FALSE_ALARM, runs, DELTA))


@pytest.mark.statistical
@pytest.mark.parametrize("door", DOORS)
def test_certified_answers_are_right_where_no_model_is(door: str, tmp_path: Path) -> None:
    counts = [count(door, bent, RUNS, tmp_path) for bent in FUNCTIONS]
    assert sum(wrong for _, wrong in counts) <= allowed(RUNS * len(FUNCTIONS))
    assert sum(certified for certified, _ in counts) >= RUNS * len(FUNCTIONS) - 1


def test_every_door_gives_the_same_answer(tmp_path: Path) -> None:
    found, *others = (
        DOORS[door]("profit", 1, tmp_path) for door in ("find", "Study", "study.toml")
    )
    assert found.certified
    assert all(found.sentence == other.sentence for other in others)


def test_identify_asks_whether_there_is_a_model() -> None:
    problem = sf.RobustProblem.from_lists(ARMS, PERTURBATIONS, environment={"by": 0.0})
    with pytest.raises(sf.InputError, match="say how far rewards may be from a linear function"):
        sf.identify(problem, sf.TableSimulator(np.zeros(18)), delta=DELTA, noise=sf.Gaussian())


def main(runs: int) -> None:
    whole = {door: [0, 0] for door in DOORS}
    with tempfile.TemporaryDirectory() as folder:
        for door in DOORS:
            for bent in FUNCTIONS:
                second, best = np.sort(values_of(bent))[-2:]
                certified, wrong = count(door, bent, runs, Path(folder))
                whole[door][0] += certified
                whole[door][1] += wrong
                print(
                    f"{door:10} {bent:6} lead {best - second:.2f}: {certified} of {runs} certified,"
                    f" {wrong} wrong, {allowed(runs)} allowed",
                    flush=True,
                )
    for door, (certified, wrong) in whole.items():
        made = runs * len(FUNCTIONS)
        print(f"{door}: {certified} of {made} certified, {wrong} wrong, {allowed(made)} allowed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20)
