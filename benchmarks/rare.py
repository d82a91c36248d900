"""What certificates cannot see: rare events, pulls that depend on each other, and what is said.

`python -m benchmarks noise` prints these rows with its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchmarks import model_free, rewards
from benchmarks.spread import spread
from benchmarks.table import Row, published
from surefoot.algorithms.result import Result
from surefoot.algorithms.unseen import pulls_for
from surefoot.arrays import Array
from surefoot.noise import Gaussian
from surefoot.plan import Prime
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Simulator, TableSimulator, identify
from surefoot.statistics import Outcome, Phase

DELTA, LEVEL = 0.05, 0.01
BUDGET = 400
PRICED = 10  # times fewer runs where samples are compared
TABULAR = RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))
TIED = np.array([0.0, 0.0, 0.0, 1.0, -1.0, 0.0])  # arms 0 and 1 are best; one pair of 1 decides
APART = np.array([0.0, 0.0, -1.0, 1.0, -2.0, 0.0])
CRASH, CRASHES = 40.0, 1 / 200
ASKED = {6: 0.05, 20: 0.05, 50: 0.02, 200: 0.005}  # rarest, for falls in 1 of so many pulls
SHOWN = r"^(?!.*never varies)"  # as the documentation has it
Maker = Callable[[np.random.Generator], Simulator]


@dataclass(frozen=True, eq=False)
class Case:
    """Runs of one kind at a tie, or where arm 0 is ahead.

    Attributes:
        name: what the row says.
        simulator: makes the rewards of one run.
        options: of `identify`.
    """

    name: str
    simulator: Maker
    options: dict[str, Any]

    def run(self, seed: int) -> dict[str, Any]:
        """One run: whether it certifies another arm than arm 0, and what it says of itself."""
        simulator = self.simulator(np.random.default_rng(np.random.SeedSequence((38, seed))))
        usual = {"delta": DELTA, "misfit": math.inf, "noise": Gaussian(), "budget": BUDGET}
        result = identify(TABULAR, simulator, **(usual | self.options))
        unseen = result.unseen
        return {
            "case": self.name,
            "wrong": result.certified and result.arm != 0,
            "withheld": _withheld(result),
            "rarity": math.nan if unseen is None else unseen.rarity,
            "cost": math.nan if unseen is None else unseen.cost,
            "event": bool(getattr(simulator, "events", 0)),
        }


def _withheld(result: Result) -> bool:
    return result.model_check.below(result.model_check.independence)


@dataclass(eq=False)
class InTime:
    """Normal rewards that depend on what was pulled before.

    Attributes:
        means: (n_pairs,) of rewards.
        generator: where all of them come from.
        follows: correlation of a pair's pull with the one before it.
        of_phases: share of the variance that all pulls of a pair in a phase have in common.
        wanders: deviation of the steps of each pair's mean, from pull to pull.
        drifts: by how much the mean of all pairs rises from pull to pull, whichever is pulled.
    """

    means: Array
    generator: np.random.Generator
    follows: float = 0.0
    of_phases: float = 0.0
    wanders: float = 0.0
    drifts: float = 0.0

    def __post_init__(self) -> None:
        self.last = self.generator.standard_normal(len(self.means))
        self.moved, self.time = np.zeros(len(self.means)), 0

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(len(self.means)), phase.counts)
        pairs = self.generator.permutation(pairs)
        noise = self.generator.standard_normal(len(pairs))
        found = np.empty(len(pairs))
        together = math.sqrt(self.of_phases) * self.generator.standard_normal(len(self.means))
        for k, pair in enumerate(pairs.tolist()):
            new = math.sqrt(1 - self.follows**2) * noise[k]
            self.last[pair] = self.follows * self.last[pair] + new
            found[k] = math.sqrt(1 - self.of_phases) * self.last[pair] + self.moved[pair]
            self.moved[pair] += self.wanders * self.generator.standard_normal()
        drift = self.drifts * (self.time + np.arange(len(pairs)))
        self.time += len(pairs)
        found = self.means[pairs] + together[pairs] + found + drift
        return Outcome.from_rewards(phase, len(self.means), pairs, found)


@dataclass(eq=False)
class Crashing:
    """Normal rewards; the pair that decides for arm 1 crashes now and then, and is tied so."""

    generator: np.random.Generator
    events: int = 0

    def pull(self, phase: Phase) -> Outcome:
        pairs = np.repeat(np.arange(6), phase.counts)
        crashed = (pairs == 2) & (self.generator.random(len(pairs)) < CRASHES)
        self.events += int(crashed.sum())
        found = TIED[pairs] + self.generator.standard_normal(len(pairs))
        found += CRASHES * CRASH * (pairs == 2) - CRASH * crashed
        return Outcome.from_rewards(phase, 6, pairs, found)


def _drawn(draws: list[rewards.Draw]) -> Maker:
    return lambda rng: rewards.Rewards(draws, rng)


def _in_time(means: Array, **how: float) -> Maker:
    return lambda rng: InTime(means, rng, **how)


def _alike(draw: rewards.Draw, means: NDArray[np.float64]) -> Maker:
    """All pairs have this noise."""

    def moved(mean: float) -> rewards.Draw:
        return lambda rng, n: mean + draw(rng, n)

    return _drawn([moved(float(mean)) for mean in means])


def _falls() -> Iterator[Case]:
    """Falls of a pair that else is as quiet as the tied arm's, with and without `rarest`."""
    quiet, noisy = rewards.normal(0.0, 0.05), rewards.normal()
    others = [rewards.normal(1.0), rewards.normal(-1.0), noisy]
    for rarity, rarest in ASKED.items():
        maker = _drawn([quiet, quiet, rewards.falls(1 / rarity, 0.05), *others])
        asked = {"rarest": rarest, "budget": BUDGET + 6 * pulls_for(rarest, DELTA)}
        yield Case(f"falls in 1 of {rarity}, rarest = {rarest:g}", maker, asked)
        yield Case(f"falls in 1 of {rarity}, defaults", maker, {})
    for rarity in (6, 20):
        maker = _drawn([quiet, quiet, rewards.falls(1 / rarity), *others])
        yield Case(f"falls in 1 of {rarity} of a pair that else never varies", maker, {})


DEPENDENT: dict[str, Maker] = {
    "pulls of a pair follow each other, AR 0.5": _in_time(TIED, follows=0.5),
    "pulls of a pair follow each other, AR 0.9": _in_time(TIED, follows=0.9),
    "phase effects, 10 % of the variance": _in_time(TIED, of_phases=0.1),
    "means of pairs wander by 0.01 sd a pull": _in_time(TIED, wanders=0.01),
}
HONEST: dict[str, Maker] = {
    "normal": _alike(lambda rng, n: rng.standard_normal(n), APART),
    "t of 3 degrees": _alike(lambda rng, n: rng.standard_t(3, n) / math.sqrt(3), APART),
    "log-normal": _alike(rewards.log_normal(), APART),
    "counts, mean 0.3": _alike(lambda rng, n: rng.poisson(0.3, n).astype(np.float64), APART),
    "drift of all pairs by 0.003 sd a pull": _in_time(APART, drifts=0.003),
}
CRASHES_CASE = Case("crashes of 40 sd in 1 of 200", Crashing, {})


def cases() -> dict[str, Case]:
    """Return all cases by their names."""
    dependent = [Case(name, maker, {}) for name, maker in DEPENDENT.items()]
    honest = [Case(f"honest: {name}", maker, {}) for name, maker in HONEST.items()]
    every = [*_falls(), *dependent, *honest, CRASHES_CASE]
    return {case.name: case for case in every if published(case.name, SHOWN)}


def rows(found: pd.DataFrame, runs: int) -> Iterator[Row]:
    """Return the rows of all cases, and of what doubt costs normal rewards.

    Args:
        found: what `Case.run` gave, a row for each run.
    """
    of: dict[Any, pd.DataFrame] = dict(iter(found.groupby("case")))
    for rarity in ASKED:
        yield from _of_falls(rarity, of)
    for name in (name for name in of if "never varies" in name):
        yield _share(f"certified and wrong at a tie · {name}", of[name]["wrong"], 2 * DELTA)
    for name in (name for name in DEPENDENT if name in of):
        yield _dependent(name, of[name])
    for name in (name for name in HONEST if f"honest: {name}" in of):
        runs_of = of[f"honest: {name}"]
        row = _share(f"withheld, though pulls are independent · {name}", runs_of["withheld"], 0.002)
        yield row
    if CRASHES_CASE.name in of:
        yield _of_crashes(of[CRASHES_CASE.name])
    yield _price(max(runs // PRICED, 2))


def _share(name: str, which: pd.Series[bool], bound: float | None) -> Row:
    """Say how often something happened, and whether that is more often than a bound."""
    count, runs = int(which.sum()), len(which)
    share = f"{count} of {runs} ({count / runs:.3f})"
    if bound is None:
        return Row(name, share)
    p = float(stats.binom.sf(count - 1, runs, bound))
    return Row(name, f"{share}, p = {p:.2g}", f"exact test cannot reject ≤ {bound:g}", p >= LEVEL)


def _of_falls(rarity: int, of: dict[Any, pd.DataFrame]) -> Iterator[Row]:
    asked = f"falls in 1 of {rarity}, rarest = {ASKED[rarity]:g}"
    if asked in of:
        yield _share(f"certified and wrong at a tie · {asked}", of[asked]["wrong"], DELTA)
    name = f"falls in 1 of {rarity}, defaults"
    if name not in of:
        return
    usual, bound = of[name], 2 * DELTA if rarity == min(ASKED) else None
    yield _share(f"certified and wrong at a tie · {name}", usual["wrong"], bound)
    wrong = usual[usual["wrong"]]
    if len(wrong):
        named = int((wrong["rarity"] > 1 / rarity).sum())
        yield Row(
            f"wrong certificates that say such falls may be unseen · {name}",
            f"{named} of {len(wrong)}",
            "≥ 95 %",
            named >= 0.95 * len(wrong),
        )


def _dependent(name: str, runs_of: pd.DataFrame) -> Row:
    wanders = "wander" in name
    return _share(
        f"certified and wrong at a tie · {name}", runs_of["wrong"], None if wanders else 2 * DELTA
    )


def _of_crashes(runs_of: pd.DataFrame) -> Row:
    """Count statements that are false: no event seen, and the answer wrong at a lower cost."""
    false = runs_of["wrong"] & ~runs_of["event"] & (runs_of["cost"] > CRASH)
    said = f"an unseen event would have to cost more than C, and is false · {CRASHES_CASE.name}"
    wrong = int(runs_of["wrong"].sum())
    row = _share(said, false, DELTA)
    return replace(row, measured=f"{row.measured}; {wrong} certified wrong")


class Credulous(Prime):
    """PRIME without doubt: its evidence is the kernel's."""

    def _lower(self, *_: object) -> Any:
        return lambda claims, scores, said, root: None


def _price(runs: int) -> Row:
    """Compare what normal rewards cost with doubt and without it, on slippage and small tables."""
    names, own = ("SC", "MM", "SC, unequal variances", "small tables"), (Prime, Credulous)
    parts = [(name, planner, seed) for name in names for planner in own for seed in range(runs)]
    spent = np.reshape(spread(_samples, parts), (len(names), len(own), runs)).mean(axis=2)
    ratios = dict(zip(names, (spent[:, 0] / spent[:, 1]).tolist(), strict=True))
    mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
    each = ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items())
    return Row(
        "samples with doubt / without, normal rewards, geometric mean",
        f"{mean:.3f} ({each}; {runs} runs each)",
        "≤ 1.03",
        mean <= 1.03,
    )


def _samples(name: str, planner: type[Prime], seed: int) -> int:
    if name == "small tables":
        means, deviations = APART / 2, np.ones(6)
        problem = TABULAR
    else:
        world = model_free.slippage(name)
        means, deviations = world.means.ravel(), world.deviations.ravel()
        problem = world.problem
    simulator = TableSimulator(means, deviations, np.random.SeedSequence((39, seed)))
    options: dict[str, Any] = {"delta": DELTA, "misfit": math.inf, "noise": Gaussian()}
    return identify(problem, simulator, planner(), **options).samples
