"""Samples against the number of arms: PRIME and the procedures of robust ranking and selection."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms.peers import KnRsb, TwoStageRsb
from surefoot.experiments.session.output import console_for_output, markdown_table, short
from surefoot.experiments.session.publication import Publication, publish
from surefoot.experiments.session.runner import Job, Session
from surefoot.paper.peers.configurations import (
    KINDS,
    VARIANCE,
    ZONE,
    Kind,
    equal_scales,
    mean_rewards,
)
from surefoot.paper.peers.contest import Contender, Contest
from surefoot.paper.peers.limit import lower_bound
from surefoot.problem.problem import RobustProblem

if TYPE_CHECKING:
    import pandas as pd

NAME = "peers"
NUMBER = 5  # makes its random streams its own
SIZES = (3, 5, 10, 20, 40)
N_OWN = 5
DELTA = 0.05
PRIME = "PRIME"
BOUND = "lower bound"
TOLERANCE = 0.999 * ZONE  # a hair below the zone, so that the best arm is the only right answer
CONTENDERS = (
    Contender("two-stage, multiplicative", TwoStageRsb(zone=ZONE, rule="multiplicative")),
    Contender("two-stage, additive", TwoStageRsb(zone=ZONE, rule="additive")),
    Contender("two-stage, one-sample", TwoStageRsb(zone=ZONE, rule="one-sample")),
    Contender("two-stage, direct", TwoStageRsb(zone=ZONE, rule="direct")),
    Contender("KN-RSB", KnRsb(zone=ZONE)),
    Contender(PRIME, "prime", {"tolerance": TOLERANCE}),
)


def peers(session: Session) -> None:
    """Run all contenders in all configurations; write the runs, a table and the figure."""
    runs = run_table(session)
    table = summary(runs)
    publication = Publication(
        NAME,
        tables={"": runs},
        charts={"": figure(table)},
        texts={"-summary.md": markdown(table)},
        facts={"delta": DELTA, "zone": ZONE, "tolerance": TOLERANCE},
    )
    publish(session, publication)
    _show(session, table)


def run_table(session: Session) -> pd.DataFrame:
    """Every run of every contender, as a row; the same to the bit for the same seed."""
    import pandas as pd

    jobs = [
        Job(f"{kind}/{size}/{run}", (kind, size, run, session.seed), 10 + size)
        for kind in KINDS
        for size in SIZES
        for run in range(session.runs)
    ]
    rows = [row for rows in session.map(NAME, run_once, jobs) for row in rows]
    return pd.DataFrame(rows)


def run_once(kind: Kind, size: int, run: int, session_seed: int) -> list[dict[str, Any]]:
    """All contenders on one configuration, each with the noise of the same seed."""
    contest, problem = _same_for_all_runs(kind, size)
    where = {"configuration": kind, "arms": size, "run": run}
    rows = []
    for contender in CONTENDERS:
        seed = np.random.SeedSequence(
            session_seed, spawn_key=(NUMBER, KINDS.index(kind), size, run)
        )
        rows.append(
            where | {"label": contender.label} | asdict(contender.run(contest, problem, seed))
        )
    return rows


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean samples, their standard error and the errors, by configuration, arms and contender; the
    lower bound as a contender of its own.
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
            lower_bound(contest_of(kind, int(size)), TOLERANCE)
            for kind, size in cells.itertuples(index=False)
        ],
        error=0.0,
        wrong=0,
    )
    return pd.concat([table.fillna({"error": 0.0}), bounds], ignore_index=True)


def figure(table: pd.DataFrame) -> Any:
    """One panel for each configuration, one line for each contender."""
    from surefoot.view.charts import growth_chart

    named = table.assign(
        low=table["mean"] - table["error"],
        high=table["mean"] + table["error"],
        bound=table["label"] == BOUND,
    )
    title = f"Samples against the number of arms, {N_OWN} perturbations each"
    subtitle = f"zone {ZONE:g}, variance {VARIANCE:g}, δ = {DELTA:g}; mean ± standard error"
    return growth_chart(named, "arms", "configuration", title, subtitle)


def markdown(table: pd.DataFrame) -> str:
    """The summary as a table for documents: one row per cell, one column per contender."""
    labels = list(dict.fromkeys(table["label"]))
    lines: list[tuple[str, ...]] = [("", *labels, "wrong", f"{PRIME} / best peer")]
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
    return markdown_table(lines) + "\n"


def _cell(row: Mapping[Any, Any]) -> str:
    if row["label"] == BOUND:
        return short(row["mean"])
    return f"{short(row['mean'])} ± {short(row['error'])}"


def _ratio(cells: Mapping[Any, Mapping[Any, Any]]) -> float:
    peers = [row["mean"] for label, row in cells.items() if label not in (PRIME, BOUND)]
    return float(cells[PRIME]["mean"] / min(peers))


def contest_of(kind: Kind, size: int) -> Contest:
    """One cell: a configuration with this many arms."""
    means, scales = mean_rewards(kind, size, N_OWN), equal_scales(size, N_OWN)
    return Contest(f"{kind}, {size} × {N_OWN}", means, scales, delta=DELTA)


@functools.cache
def _same_for_all_runs(kind: Kind, size: int) -> tuple[Contest, RobustProblem]:
    """One problem per process, so that its designs are remembered from run to run."""
    contest = contest_of(kind, size)
    return contest, contest.problem()


def _show(session: Session, table: pd.DataFrame) -> None:
    from rich.table import Table

    console = console_for_output()
    shown = Table(
        "configuration", "arms", "procedure", "mean samples", "± standard error", "wrong",
        title=f"{NAME}: {session.runs} runs, zone {ZONE:g}, seed {session.seed}",
        title_justify="left",
    )  # fmt: skip
    for (kind, size), rows in table.groupby(["configuration", "arms"], sort=False):
        for row in rows.to_dict("records"):
            error = "" if row["label"] == BOUND else f"{row['error']:,.0f}"
            wrong = "" if row["label"] == BOUND else str(row["wrong"])
            shown.add_row(str(kind), str(size), row["label"], f"{row['mean']:,.0f}", error, wrong)
        shown.add_section()
    console.print(shown)
    console.print(f"written to {session.out}/{NAME}.*", highlight=False)
