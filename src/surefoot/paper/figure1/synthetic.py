"""The two experiments of the paper's Figure 1: irrelevant dimensions and unit sphere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.experiments import instances
from surefoot.experiments.instances import Instance
from surefoot.experiments.session.output import console_for_output, markdown_table, short
from surefoot.experiments.session.publication import Claim, Publication, claim_facts, publish
from surefoot.experiments.session.runner import Job, Session
from surefoot.paper.figure1.contenders import CONTENDERS, DELTA, ORACLE

if TYPE_CHECKING:
    import pandas as pd

SPHERE_DIMENSION = 10
BOUND = "lower bound"
COLUMNS = ["experiment", "size", "pairs", "lower_bound", "run"]
COLUMNS += ["label", "algorithm", "policy", "knows", "seed"]
RESULTS = ["samples", "certified", "correct"]


@dataclass(frozen=True)
class Experiment:
    """One panel of the figure.

    Attributes:
        number: makes its random streams its own.
        symbol: of the size, d or n.
        axis: what the size is, in words.
    """

    name: str
    number: int
    title: str
    symbol: str
    axis: str
    sizes: tuple[int, ...]

    def seed(self, session_seed: int, size: int, run: int) -> int:
        """What one run is replayed from; it depends on nothing else."""
        sequence = np.random.SeedSequence(session_seed, spawn_key=(self.number, size, run))
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def instance(self, size: int, seed: int) -> Instance:
        if self is SPHERE:
            generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
            return instances.unit_sphere(size, SPHERE_DIMENSION, generator)
        return _same_for_all_runs(size)


IRRELEVANT = Experiment(
    "irrelevant-dimensions",
    1,
    "Irrelevant dimensions",
    "d",
    "dimensions d",
    (5, 10, 15, 20, 25, 30),
)
SPHERE = Experiment("unit-sphere", 2, "Unit sphere", "n", "arms n", (10, 20, 50, 100, 200))


def irrelevant_dimensions(session: Session) -> None:
    """Experiment 1: only two of the d dimensions matter."""
    from surefoot.paper.figure1.claims import irrelevant_dimensions_claims

    _reproduce(session, IRRELEVANT, irrelevant_dimensions_claims)


def unit_sphere(session: Session) -> None:
    """Experiment 2: n arms on a sphere, a fresh one for each run."""
    from surefoot.paper.figure1.claims import shared_claims

    _reproduce(session, SPHERE, shared_claims)


def run_table(session: Session, experiment: Experiment) -> pd.DataFrame:
    """Every run of every contender, as a row; the same to the bit for the same seed, but for the
    seconds.
    """
    import pandas as pd

    jobs = [
        Job(
            f"{size}/{run}",
            (experiment.name, size, run, experiment.seed(session.seed, size, run)),
            10 + size,
        )
        for size in experiment.sizes
        for run in range(session.runs)
    ]
    results = session.map(experiment.name, run_once, jobs)
    table = pd.DataFrame([row for rows in results for row in rows])
    return table[[*COLUMNS, *RESULTS, "seconds"]]


def run_once(name: str, size: int, run: int, seed: int) -> list[dict[str, Any]]:
    """All contenders on one instance, with the same noise."""
    experiment = IRRELEVANT if name == IRRELEVANT.name else SPHERE
    instance = experiment.instance(size, seed)
    where = {"experiment": name, "size": size, "pairs": instance[0].n_pairs, "run": run}
    where["lower_bound"] = (
        _bound_of_all_runs(size) if experiment is IRRELEVANT else _bound(instance)
    )
    return [where | asdict(contender.run(instance, seed)) for contender in CONTENDERS]


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and deviation of the samples, their ratio to the paper's oracle, and errors, by size and
    contender.
    """
    groups = runs.groupby(["size", "label", "policy"], sort=False)
    table = groups["samples"].agg(runs="size", mean="mean", deviation="std")
    table["ratio"] = table["mean"] / table["mean"].xs(
        (ORACLE.label, ORACLE.policy), level=("label", "policy")
    )
    table["errors"] = groups["correct"].agg(lambda correct: int((~correct).sum()))
    table["uncertified"] = groups["certified"].agg(lambda certified: int((~certified).sum()))
    table["seconds"] = groups["seconds"].mean()
    return table.reset_index()


def bounds(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean lower bound of each size's instances, in the columns that a chart wants."""
    means = runs.groupby("size", sort=False)["lower_bound"].mean().reset_index(name="mean")
    return means.assign(algorithm=BOUND, policy="bound", low=means["mean"], high=means["mean"])


def figure(experiment: Experiment, table: pd.DataFrame, bounds: pd.DataFrame) -> Any:
    """The panel of Figure 1: what follows the paper's rules in one family of colours, what is
    proved in another, and the limit.
    """
    import pandas as pd

    from surefoot.view.charts import samples_chart

    error = (table["deviation"] / np.sqrt(table["runs"])).fillna(0.0)
    bars = table.assign(
        algorithm=table["label"], low=table["mean"] - error, high=table["mean"] + error
    )
    title = f"{experiment.title}: samples until the answer is certain (mean ± standard error)"
    return samples_chart(pd.concat([bars, bounds]), "size", experiment.axis, title)


def markdown(experiment: Experiment, table: pd.DataFrame, bounds: pd.DataFrame) -> str:
    """The summary as a table for documents: one row per contender, one column per size, and the
    limit below.
    """
    sizes = (f"{experiment.symbol} = {size}" for size in experiment.sizes)
    lines: list[tuple[str, ...]] = [("", *sizes, "errors")]
    for (label, policy), rows in table.groupby(["label", "policy"], sort=False):
        cells = (
            f"{short(mean)} ({ratio:.2f})"
            for mean, ratio in zip(rows["mean"], rows["ratio"], strict=True)
        )
        errors = f"{rows['errors'].sum()} of {rows['runs'].sum()}"
        lines.append((f"{label}, {policy}", *cells, errors))
    lines.append((BOUND, *(short(mean) for mean in bounds["mean"]), "–"))
    return markdown_table(lines) + "\n"


@functools.cache
def _same_for_all_runs(d: int) -> Instance:
    """One problem per process, so that its designs are remembered from run to run."""
    return instances.irrelevant_dimensions(d)


def _bound(instance: Instance) -> float:
    from surefoot.paper.figure1.limit import lower_bound

    return lower_bound(instance, DELTA)


@functools.cache
def _bound_of_all_runs(d: int) -> float:
    return _bound(_same_for_all_runs(d))


def _reproduce(
    session: Session, experiment: Experiment, claims_of: Callable[[pd.DataFrame], Iterable[Claim]]
) -> None:
    runs = run_table(session, experiment)
    table, limit, claims = summary(runs), bounds(runs), list(claims_of(runs))
    seconds = runs[["size", "run", "label", "policy", "seconds"]]
    publication = Publication(
        experiment.name,
        tables={"": runs.drop(columns="seconds")},
        charts={"": figure(experiment, table, limit)},
        texts={
            "-summary.md": markdown(experiment, table, limit),
            "-seconds.csv": seconds.to_csv(index=False, lineterminator="\n"),
        },
        facts={"delta": DELTA, **claim_facts(claims)},
    )
    publish(session, publication)
    _show(session, experiment, table, claims)


def _show(
    session: Session, experiment: Experiment, table: pd.DataFrame, claims: list[Claim]
) -> None:
    from rich.table import Table

    console = console_for_output()
    shown = Table(
        experiment.symbol, "algorithm", "rules", "mean samples", "± sd",
        "/ oracle", "errors", "ms a run",
        title=f"{experiment.name}: {session.runs} runs, δ = {DELTA:g}, seed {session.seed}",
        title_justify="left",
    )  # fmt: skip
    for size, group in table.groupby("size", sort=False):
        for row in group.to_dict("records"):
            deviation = "" if row["runs"] == 1 else f"{row['deviation']:,.0f}"
            numbers = (f"{row['mean']:,.0f}", deviation, f"{row['ratio']:.2f}", str(row["errors"]))
            shown.add_row(
                str(size), row["label"], row["policy"], *numbers, f"{1e3 * row['seconds']:.0f}"
            )
        shown.add_section()
    console.print(shown)
    console.print("The paper's claims (its own rules, our runs):")
    for claim in claims:
        console.print(claim.markup, highlight=False)
    console.print(f"written to {session.out}/{experiment.name}.*", highlight=False)
