"""PRIME beside the procedures of robust ranking and selection, on their own test problems."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surefoot.algorithms import Algorithm
from surefoot.algorithms.peers import KnRsb, TwoStageRsb
from surefoot.arrays import Array
from surefoot.design.hardness import binary_divergence
from surefoot.design.separation import exact_separation
from surefoot.experiments.comparison import Counted
from surefoot.experiments.instances import (
    Instance,
    monotone_means,
    slippage,
    slippage_everywhere,
    tabular,
)
from surefoot.experiments.publication import (
    PrintedTable,
    Publication,
    Screen,
    publish,
    short,
)
from surefoot.experiments.session import Job, Session
from surefoot.noise import Gaussian, Noise
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import Family, Simulator, TableSimulator, identify

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["SC", "SC2", "MM"]
KINDS: dict[Kind, Callable[[int, int, float], Instance]] = {
    "SC": slippage,
    "SC2": slippage_everywhere,
    "MM": monotone_means,
}
ZONE = 1.0  # the gap in all of them, and the indifference zone that the peers are told
VARIANCE = 4.0  # of every pair
DEVIATION = math.sqrt(VARIANCE)


def mean_rewards(kind: Kind, n_arms: int, n_own: int) -> Array:
    """Return (n_arms, n_own) mean rewards; the first arm is the best, by the zone."""
    _, means = KINDS[kind](n_arms, n_own, ZONE)
    return means.reshape(n_arms, n_own)


class Work(Protocol):
    """The task of contenders: a problem, a fresh simulator for each run, and the right answer."""

    @property
    def noise(self) -> Noise: ...
    @property
    def delta(self) -> float: ...
    @property
    def best(self) -> int: ...
    def problem(self) -> RobustProblem: ...
    def simulator(self, seed: np.random.SeedSequence) -> Simulator: ...


@dataclass(frozen=True, eq=False)
class PeerContest:
    """Work with given means.

    Attributes:
        means: (n_arms, n_own) mean rewards.
        scales: standard deviations, one number or one for each pair.
        noise: the model given to the contenders.
        family: of the noise.
        delta: the probability with which an answer may be wrong.
        correlation: of rewards that share a stream.
    """

    name: str
    means: Array
    scales: ArrayLike = 1.0
    noise: Noise = field(default_factory=Gaussian)
    family: Family = "gaussian"
    delta: float = 0.05
    correlation: float = 0.0

    @property
    def best(self) -> int:
        return int(np.argmax(self.means.min(axis=1)))

    @property
    def deviations(self) -> Array:
        """(n_pairs,) standard deviations."""
        return np.broadcast_to(np.ravel(np.asarray(self.scales, np.float64)), self.means.size)

    def problem(self) -> RobustProblem:
        return tabular(*self.means.shape)

    def simulator(self, seed: np.random.SeedSequence) -> TableSimulator:
        return TableSimulator(
            self.means.ravel(), self.deviations, seed, self.family, self.correlation
        )


@dataclass(frozen=True)
class PeerContender:
    """An algorithm with the settings that it is given in addition."""

    label: str
    algorithm: str | Algorithm
    settings: dict[str, Any] = field(default_factory=dict)

    def run(self, work: Work, problem: RobustProblem, seed: np.random.SeedSequence) -> Counted:
        """Solve it once, with the noise of this seed."""
        result = identify(
            problem,
            work.simulator(seed),
            self.algorithm,
            delta=work.delta,
            noise=work.noise,
            misfit=math.inf,
            **self.settings,
        )
        return Counted.of(result, work.best)


CLOSE = 1e-3  # how far the proven lower end of H* may be from the best design found


def lower_bound(contest: PeerContest, tolerance: float) -> float:
    """Return 2 kl(δ, 1 − δ) H*, with H* of the means whose best arm is raised by the tolerance.

    The answer is wrong only where another arm is ahead of it by more than the tolerance. Means of
    this kind are as far from the true ones as means with another best arm are from these raised
    ones. It holds where no other arm is good to within the tolerance.
    """
    problem = contest.problem()
    raised = contest.means.copy()
    raised[contest.best] += tolerance
    design = exact_separation(
        problem.pairs,
        problem.offsets,
        problem.reduced(raised.ravel()),
        contest.best,
        rows=problem.pairs / contest.deviations[:, None],
        tolerance=CLOSE,
    )
    return 2.0 * binary_divergence(contest.delta) * design.lower_bound


NAME = "peers"
NUMBER = 5  # makes its random streams its own
SIZES = (3, 5, 10, 20, 40)
N_OWN = 5
DELTA = 0.05
PRIME = "PRIME"
BOUND = "lower bound"
TOLERANCE = 0.999 * ZONE  # a hair below the zone, so that the best arm is the only right answer
CONTENDERS = (
    PeerContender("two-stage, multiplicative", TwoStageRsb(zone=ZONE, rule="multiplicative")),
    PeerContender("two-stage, additive", TwoStageRsb(zone=ZONE, rule="additive")),
    PeerContender("two-stage, one-sample", TwoStageRsb(zone=ZONE, rule="one-sample")),
    PeerContender("two-stage, direct", TwoStageRsb(zone=ZONE, rule="direct")),
    PeerContender("KN-RSB", KnRsb(zone=ZONE)),
    PeerContender(PRIME, "prime", {"tolerance": TOLERANCE}),
)


def peers(session: Session) -> None:
    """Run all contenders in all configurations; write the runs, a table and the figure."""
    runs = _run_table(session)
    table = summary(runs)
    publication = Publication(
        NAME,
        tables={"": runs},
        charts={"": figure(table)},
        printed={"summary": printed(table)},
        facts={"delta": DELTA, "zone": ZONE, "tolerance": TOLERANCE},
        screens=[
            Screen(
                f"{NAME}: {session.runs} runs, zone {ZONE:g}, seed {session.seed}",
                SHOWN,
                [
                    [_shown(row) for row in rows.to_dict("records")]
                    for _, rows in table.groupby(["configuration", "arms"], sort=False)
                ],
            )
        ],
    )
    publish(session, publication)


def _run_table(session: Session) -> pd.DataFrame:
    """Return every run of every contender, as a row; reproducible to the bit from the seed."""
    import pandas as pd

    jobs = [
        Job(f"{kind}/{size}/{run}", (kind, size, run, session.seed), 10 + size)
        for kind in KINDS
        for size in SIZES
        for run in range(session.runs)
    ]
    rows = [row for rows in session.map(NAME, _run_once, jobs) for row in rows]
    return pd.DataFrame(rows)


def _run_once(kind: Kind, size: int, run: int, session_seed: int) -> list[dict[str, Any]]:
    """Return all contenders on one configuration, each with the noise of one seed."""
    contest, problem = _same_for_all_runs(kind, size)
    where = {"configuration": kind, "arms": size, "run": run}
    rows = []
    for contender in CONTENDERS:
        seed = np.random.SeedSequence(
            session_seed, spawn_key=(NUMBER, [*KINDS].index(kind), size, run)
        )
        rows.append(
            where | {"label": contender.label} | asdict(contender.run(contest, problem, seed))
        )
    return rows


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean samples, their standard error and the errors, by configuration, arms and
    contender; the lower bound is a contender of its own.
    """
    import pandas as pd

    groups = runs.groupby(["configuration", "arms", "label"], sort=False)
    table = groups["samples"].agg(runs="size", mean="mean", error="sem").reset_index()
    table["wrong"] = groups["correct"].agg(lambda correct: int((~correct).sum())).to_numpy()
    cells = table[["configuration", "arms"]].drop_duplicates()
    bounds = cells.assign(
        label=BOUND,
        runs=0,
        mean=[
            lower_bound(_contest_of(kind, int(size)), TOLERANCE)
            for kind, size in cells.itertuples(index=False)
        ],
        error=0.0,
        wrong=0,
    )
    return pd.concat([table.fillna({"error": 0.0}), bounds], ignore_index=True)


def figure(table: pd.DataFrame) -> Any:
    """Return one panel for each configuration, one line for each contender."""
    from surefoot.view.charts import growth_chart

    named = table.assign(
        low=table["mean"] - table["error"],
        high=table["mean"] + table["error"],
        bound=table["label"] == BOUND,
    )
    title = f"Samples against the number of arms, {N_OWN} perturbations each"
    subtitle = f"zone {ZONE:g}, variance {VARIANCE:g}, δ = {DELTA:g}; mean ± standard error"
    return growth_chart(named, "arms", "configuration", title, subtitle)


def printed(table: pd.DataFrame) -> PrintedTable:
    """Return the summary for documents: one row per cell, one column per contender."""
    labels = list(dict.fromkeys(table["label"]))
    lines: list[tuple[str, ...]] = []
    for (kind, size), rows in table.groupby(["configuration", "arms"], sort=False):
        cells = {row["label"]: row for row in rows.to_dict("records")}
        wrong = sum(row["wrong"] for row in cells.values())
        lines.append(
            (
                f"{kind}, {size} × {N_OWN}",
                *(_cell(cells[label]) for label in labels),
                f"{wrong} of {sum(row['runs'] for row in cells.values())}",
                f"{_ratio(cells):.2f}",
            )
        )
    heads = ("", *labels, "wrong", f"{PRIME} / best peer")
    roots = ("surefoot.paper.peers", "surefoot.plan.prime:Prime")
    return PrintedTable(heads, lines, [roots] * len(lines))


def _cell(row: Mapping[Any, Any]) -> str:
    if row["label"] == BOUND:
        return short(row["mean"])
    return f"{short(row['mean'])} ± {short(row['error'])}"


def _ratio(cells: Mapping[Any, Mapping[Any, Any]]) -> float:
    peers = [row["mean"] for label, row in cells.items() if label not in (PRIME, BOUND)]
    return float(cells[PRIME]["mean"] / min(peers))


def _contest_of(kind: Kind, size: int) -> PeerContest:
    """Return one cell: a configuration with this many arms."""
    means = mean_rewards(kind, size, N_OWN)
    return PeerContest(f"{kind}, {size} × {N_OWN}", means, DEVIATION, delta=DELTA)


@functools.cache
def _same_for_all_runs(kind: Kind, size: int) -> tuple[PeerContest, RobustProblem]:
    """Return one problem per process, so that its designs are remembered from run to run."""
    contest = _contest_of(kind, size)
    return contest, contest.problem()


SHOWN = ("configuration", "arms", "procedure", "mean samples", "± standard error", "wrong")


def _shown(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return a row of the summary as the terminal shows it."""
    bound = row["label"] == BOUND
    error, wrong = ("", "") if bound else (f"{row['error']:,.0f}", str(row["wrong"]))
    where = (row["configuration"], str(row["arms"]), row["label"])
    return (*where, f"{row['mean']:,.0f}", error, wrong)
