"""How often certificates err at ties, whatever the noise, and what it costs not to know it.

`SUREFOOT_BENCH_RUNS=50 python -m benchmarks noise` takes fewer runs than the 2 000 a row, for a
first look; `SUREFOOT_BENCH_CELLS=log-normal` takes other kinds of noise, `.` all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchmarks import rare, rewards
from benchmarks.spread import spread
from benchmarks.table import Row, published
from surefoot.experiments.instances import Instance, irrelevant_dimensions, unit_sphere
from surefoot.noise import Bounded, Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, Simulator, identify

RUNS = int(os.environ.get("SUREFOOT_BENCH_RUNS", "2000"))
COSTLY = 10  # a row of mean samples has this many times fewer runs than one of errors
CHUNK = 25
DELTA = 0.05
LEVEL = 0.01  # of the exact test of "errors ≤ bound"
# Of 11 wrong eliminations in 300 runs of 1 500 pulls, 10 were among the first 300 pulls.
BUDGET = 400
LONGER = 1000  # where what matters is rare
Seed = np.random.SeedSequence


@dataclass(frozen=True, eq=False)
class Case:
    """Runs of one kind.

    Attributes:
        name: what the row says.
        problem: whose arms are tried.
        best: an arm that is best, perhaps as good as another.
        simulator: makes the rewards of one run.
        options: of `identify`.
        bound: how often the best arm may be excluded.
    """

    name: str
    problem: RobustProblem
    best: int
    simulator: Callable[[Seed], Simulator]
    options: dict[str, Any]
    bound: float = DELTA

    def run(self, seed: int) -> dict[str, Any]:
        """One run: its pulls, and whether the best arm was excluded."""
        simulator = self.simulator(Seed((2026, seed)))
        usual = {"delta": DELTA, "misfit": 0.0, "on_misfit": "ignore", "algorithm": "prime"}
        result = identify(self.problem, simulator, **(usual | self.options))
        return {
            "case": self.name,
            "samples": result.samples,
            "out": self.best not in result.candidates,
        }


TABULAR = RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
TIED = np.array([0.0, 0.0, 0.0, 1.0, -1.0, 0.0])  # arms 0 and 1 are best; one pair of 1 decides
LINEAR = RobustProblem.from_pairs(
    np.column_stack(
        [
            [0.0, 0.3, 0.0, 0.5, -0.5, 0.2, -0.5, 0.1],
            np.random.default_rng(0).standard_normal((8, 2)),
        ]
    ),
    np.repeat(np.arange(4), 2),
)
FIRST = np.array([1.0, 0.0, 0.0])
GAMES = {  # published mean samples of M-KL-LUCB at δ = 0.1 (Garivier, Kaufmann and Koolen 2016)
    "[[.4, .5], [.3, .35]]": (([0.4, 0.5], [0.3, 0.35]), 1852),
    "[[.4, .5], [.3, .45]]": (([0.4, 0.5], [0.3, 0.45]), 1622),
    "[[.45, .5, .55], [.35, .4, .6], [.3, .47, .52]]": (
        ([0.45, 0.5, 0.55], [0.35, 0.4, 0.6], [0.3, 0.47, 0.52]),
        2588,
    ),
}
SAID = {0.0: "0", math.inf: "∞"}  # misfits, in the names of cases
LEVELS = (3.0,)  # the larger standard deviation where the smaller one is a tenth of it
PAPER = [("irrelevant dimensions", 10), ("unit sphere", 20)]
SHOWN = (  # one of each kind, where it is hardest
    r"^tabular, misfit ∞: best arm 10 × as noisy|^linear, misfit 0: best arm 10 × as quiet"
    r"|\(auto\), correlation 0.95|1 in 200 fails|^rare disasters − against opposite, misfit ∞"
    r"|^game|^sd|^correlation|, (un)?equal$"
)


def _drawn(problem: RobustProblem, theta: NDArray[np.float64], **noise: Any) -> Any:
    """A maker of linear simulators."""
    return lambda seed: LinearSimulator(problem, theta, seed=seed, **noise)


def _from(draws: list[rewards.Draw]) -> Callable[[Seed], Simulator]:
    return lambda seed: rewards.Rewards(draws, np.random.default_rng(seed))


def _noise_levels() -> Iterator[Case]:
    kinds = (("tabular", TABULAR, TIED), ("linear", LINEAR, FIRST))
    for (kind, problem, theta), misfit in product(kinds, SAID):
        if kind == "linear" and misfit > 0:
            continue
        options = {"noise": Gaussian(), "misfit": misfit, "budget": BUDGET}
        for ratio, noisy in product((1, 2, 4, 10, 25), (True, False)):
            if ratio == 1 and not noisy:
                continue
            of_best = problem.arm_of_pair == 0
            scales = np.where(of_best == noisy, ratio, 1.0)
            how = f"best arm {ratio} × as {'noisy' if noisy else 'quiet'}"
            name = f"{kind}, misfit {SAID[misfit]}: {how}"
            yield Case(name, problem, 0, _drawn(problem, theta, noise=scales), options)


def _common_random_numbers() -> Iterator[Case]:
    root = np.sqrt(0.5)
    shared = {
        "0": 0.0,
        "0.5": 0.5,
        "0.95": 0.95,
        "−0.5": np.where(TABULAR.arm_of_pair == 0, root, -root),
        "different by pair": np.array([0.9, 0.2, -0.8, 0.5, 0.0, 0.95]),
    }
    for (name, correlation), choice in product(shared.items(), (True, "auto")):
        options = {"noise": Gaussian(), "misfit": math.inf, "budget": BUDGET}
        yield Case(
            f"common random numbers ({choice}), correlation {name}",
            TABULAR,
            0,
            _drawn(TABULAR, TIED, noise=np.array([1, 2, 1, 1, 1, 3.0]), correlation=correlation),
            options | {"common_random_numbers": choice},
        )


def _bounded() -> Iterator[Case]:
    options = {"noise": Bounded(0, 1), "misfit": math.inf, "budget": LONGER}
    low, high = rewards.rarely(0.995, 1.0, 0.0), rewards.rarely(0.005, 0.0, 1.0)
    kinds: dict[str, list[rewards.Draw]] = {
        "coins": [rewards.coin(p) for p in (0.5, 0.5, 0.5, 0.9, 0.2, 0.5)],
        "beta": [rewards.beta(p) for p in (0.5, 0.5, 0.5, 0.9, 0.2, 0.5)],
        "1 in 200 fails": [rewards.coin(0.995)] * 2 + [low, rewards.coin(1.0), rewards.coin(0.5)]
        + [rewards.coin(0.9)],
        "1 in 200 succeeds": [high] * 2 + [rewards.coin(0.005), rewards.coin(0.4)]
        + [rewards.coin(0.0)] * 2,
    }  # fmt: skip
    for name, draws in kinds.items():
        yield Case(f"Bounded(0, 1): {name}", TABULAR, 0, _from(draws), options)


def _skewed() -> Iterator[Case]:
    kinds: dict[str, Callable[[float, float], rewards.Draw]] = {
        "exponential": rewards.exponential,
        "log-normal": rewards.log_normal,
        "rare disasters": rewards.disasters,
    }
    for (name, draw), sign, misfit in product(kinds.items(), (1.0, -1.0), (math.inf, 0.0)):
        # the challenger's pair is skewed one way, all of the best arm's the other way or not
        for other in ("normal", "opposite"):
            best = rewards.normal() if other == "normal" else draw(0.0, -sign)
            draws = [best, best, draw(0.0, sign), draw(1.0, sign), draw(-1.0, sign), draw(0.0, 1.0)]
            yield Case(
                f"{name} {'+' if sign > 0 else '−'} against {other}, misfit {SAID[misfit]}",
                TABULAR,
                0,
                _from(draws),
                {"noise": Gaussian(), "misfit": misfit, "budget": LONGER},
                bound=2 * DELTA,
            )


def _unknown_levels() -> Iterator[Case]:
    for (family, size), noise in product(PAPER, (Gaussian(), Gaussian(equal=True))):
        problem, theta = _paper(family, size)
        known = "unequal" if noise.evidence == "batches" else "equal"
        yield Case(
            f"{family} {size}, {known}",
            problem,
            problem.best_arm(theta),
            _drawn(problem, theta),
            {"noise": noise},
        )


def _told_levels() -> Iterator[Case]:
    """The best arm's pairs are ten times as noisy as the others, or the other way round.

    Runs are short, and what a run costs before it learns anything weighs more than on larger
    levels.
    """
    means = np.array([0.0, 0.5, -1.0, 0.0, -1.5, -0.5])
    for level, noisy, misfit in product(LEVELS, (True, False), SAID):
        scales = np.where((TABULAR.arm_of_pair == 0) == noisy, level, level / 10)
        who = "noisy" if noisy else "quiet"
        for told, noise in (("unknown", Gaussian()), ("told", Gaussian(scales))):
            yield Case(
                f"sd {level:g} and {level / 10:g}, best {who}, misfit {SAID[misfit]}, {told}",
                TABULAR,
                0,
                _drawn(TABULAR, means, noise=scales),
                {"noise": noise, "misfit": misfit},
            )


def _shared_or_not() -> Iterator[Case]:
    means = np.array([0.0, 0.3, -0.1, 0.3, -0.2, 0.2])
    for choice in (False, "auto", True):
        yield Case(
            f"correlation 0.9, common random numbers {choice}",
            TABULAR,
            0,
            _drawn(TABULAR, means, correlation=0.9),
            {"noise": Gaussian(), "misfit": math.inf, "common_random_numbers": choice},
        )


def _games() -> Iterator[Case]:
    for name, (game, _) in GAMES.items():
        means = np.concatenate([np.array(row) for row in game])
        arms = np.repeat(np.arange(len(game)), len(game[0]))
        problem = RobustProblem.from_pairs(np.eye(len(means)), arms)
        options = {"noise": Bounded(0, 1), "misfit": math.inf, "delta": 0.1}
        simulator = _drawn(problem, means, family="bernoulli")
        yield Case(f"game {name}", problem, 0, simulator, options, bound=0.1)


def _paper(family: str, size: int) -> Instance:
    if family == "irrelevant dimensions":
        return irrelevant_dimensions(size)
    return unit_sphere(size, rng=np.random.default_rng(size))


ERRORS = (_noise_levels, _common_random_numbers, _bounded, _skewed)
COSTS = (_unknown_levels, _told_levels, _shared_or_not, _games)


def _cases(groups: tuple[Callable[[], Iterator[Case]], ...]) -> dict[str, Case]:
    every = (case for group in groups for case in group())
    return {case.name: case for case in every if published(case.name, SHOWN)}


def rows() -> Iterator[Row]:
    errors, costs = _cases(ERRORS), _cases(COSTS)
    found = all_runs(errors, costs)
    yield from (_error_row(case, found[found["case"] == case.name]) for case in errors.values())
    samples = found.groupby("case")["samples"].mean()
    yield _price_of_unknown_levels(samples)
    yield from _price_of_not_being_told(samples)
    yield from _gain_of_sharing(samples)
    yield from _games_won(samples, found, costs)
    yield from rare.rows(rare_runs(), RUNS)


def all_runs(errors: dict[str, Case], costs: dict[str, Case]) -> pd.DataFrame:
    """Every run of every case, one row each."""
    wanted = [(name, RUNS) for name in errors]
    wanted += [(name, max(RUNS // COSTLY, 2)) for name in costs]
    return _pooled(_some_runs, wanted)


def rare_runs() -> pd.DataFrame:
    """Every run of what certificates cannot see, one row each."""
    return _pooled(_some_rare_runs, ((name, RUNS) for name in rare.cases()))


def _pooled(
    work: Callable[[str, int, int], list[dict[str, Any]]], wanted: Iterable[tuple[str, int]]
) -> pd.DataFrame:
    jobs = [
        (name, first, min(first + CHUNK, runs))
        for name, runs in wanted
        for first in range(0, runs, CHUNK)
    ]
    return pd.DataFrame([row for chunk in spread(work, jobs) for row in chunk])


def _some_runs(name: str, first: int, last: int) -> list[dict[str, Any]]:
    case = _cases((*ERRORS, *COSTS))[name]
    return [case.run(seed) for seed in range(first, last)]


def _some_rare_runs(name: str, first: int, last: int) -> list[dict[str, Any]]:
    case = rare.cases()[name]
    return [case.run(seed) for seed in range(first, last)]


def _error_row(case: Case, found: pd.DataFrame) -> Row:
    wrong, runs = int(found["out"].sum()), len(found)
    p = float(stats.binom.sf(wrong - 1, runs, case.bound))
    return Row(
        f"best arm excluded at a tie · {case.name}",
        f"{wrong} of {runs} ({wrong / runs:.3f}), p = {p:.2g}",
        f"exact test cannot reject ≤ {case.bound:g}",
        p >= LEVEL,
    )


def _price_of_unknown_levels(samples: pd.Series[float]) -> Row:
    ratios = np.array([samples[f"{f} {n}, unequal"] / samples[f"{f} {n}, equal"] for f, n in PAPER])
    mean, each = float(np.exp(np.log(ratios).mean())), ", ".join(f"{r:.2f}" for r in ratios)
    return Row(
        "samples of Gaussian() / Gaussian(equal=True), paper's families, geometric mean",
        f"{mean:.3f} ({each})",
        "≤ 1.12",
        mean <= 1.12,
    )


def _price_of_not_being_told(samples: pd.Series[float]) -> Iterator[Row]:
    for level, who, misfit in product(LEVELS, ("noisy", "quiet"), SAID.values()):
        name = f"sd {level:g} and {level / 10:g}, best {who}, misfit {misfit}"
        ratio = samples[f"{name}, unknown"] / samples[f"{name}, told"]
        measured = f"{ratio:.2f} ({samples[f'{name}, told']:,.0f} told)"
        yield Row(f"samples of Gaussian() / Gaussian(scales) · {name}", measured, "≤ 1.2",
                  bool(ratio <= 1.2))  # fmt: skip


def _gain_of_sharing(samples: pd.Series[float]) -> Iterator[Row]:
    name = "correlation 0.9, common random numbers"
    for choice in (True, "auto"):
        ratio = samples[f"{name} {choice}"] / samples[f"{name} False"]
        yield Row(f"samples with / without common random numbers ({choice}), correlation 0.9",
                  f"{ratio:.3f}", "≤ 0.2", bool(ratio <= 0.2))  # fmt: skip


def _games_won(
    samples: pd.Series[float], found: pd.DataFrame, costs: dict[str, Case]
) -> Iterator[Row]:
    for name, (_, others) in GAMES.items():
        mean = samples[f"game {name}"]
        yield Row(
            f"samples of Bounded(0, 1) / M-KL-LUCB as published, δ = 0.1, {name}",
            f"{mean:,.0f} / {others:,} = {mean / others:.2f}",
            "≤ 0.65",
            bool(mean <= 0.65 * others),
        )
        case = costs[f"game {name}"]
        yield _error_row(case, found[found["case"] == case.name])
