"""`python -m benchmarks.confirm unit-sphere bolus`: stamp stored runs anew after code has changed.

A sample of the runs in `results/` is repeated by today's code: the first and the last run of every
size of a panel of Figure 1, and a patient of each age group. If all come out the same to the bit,
the tables are written again from the stored runs, with today's digests; if one does not, nothing is
written, and `surefoot reproduce` has to run them all.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from benchmarks.page import RESULTS
from surefoot.experiments.session import Session
from surefoot.paper import figure1
from surefoot.paper.bolus import tables as bolus
from surefoot.paper.bolus.methods import METHODS
from surefoot.paper.bolus.patient import Plan, study_patient

SAMPLE = ("adult#001", "adolescent#001", "child#001")


def main(names: list[str]) -> None:
    for name in names:
        origin = json.loads((RESULTS / f"{name}.json").read_text())
        session = Session(origin["runs"], origin["seed"], RESULTS, origin["command"])
        if name in figure1.PANELS:
            _confirm_panel(session, figure1.PANELS[name], origin)
        elif name == "bolus":
            _confirm_bolus(session)
        else:
            sys.exit(f"{name} cannot be confirmed: choose {', '.join(figure1.PANELS)}, bolus")


def _confirm_panel(session: Session, panel: figure1.Panel, origin: dict[str, Any]) -> None:
    names = [field.name for field in fields(figure1.Variation)]
    variation = figure1.Variation(**{name: origin[name] for name in names})
    asked = asdict(variation)
    sizes = tuple(asked.pop("sizes")) or panel.sizes
    runs = pd.read_parquet(RESULTS / f"{panel.name}.parquet")
    for size in sizes:
        for run in (0, session.runs - 1):
            stored = runs[(runs["size"] == size) & (runs["run"] == run)]
            seed = panel.seed(session.seed, size, run)
            again = pd.DataFrame(figure1.run_once(panel.name, size, run, seed, asked))
            columns = ["label", "policy", "seed", *figure1.RESULTS]
            _require_equal(f"{panel.name}, {size}, run {run}", stored[columns], again[columns])
    seconds = pd.read_csv(RESULTS / f"{panel.name}-seconds.csv")["seconds"].to_numpy()
    figure1.publish_runs(session, panel, variation, runs.assign(seconds=seconds))


def _confirm_bolus(session: Session) -> None:
    keys = ("simulations", "choices", "patients", "arms")
    stored = bolus.Tables(*(pd.read_parquet(RESULTS / f"bolus-{key}.parquet") for key in keys))
    known = set(stored.choices["method"])
    labels = tuple(method.label for method in METHODS if method.label in known)
    plan = Plan(seed=session.seed, runs=session.runs, labels=labels)
    for name in SAMPLE:
        again = bolus.Tables.of([study_patient(name, plan)])
        for key, columns in (
            ("choices", ["method", "choice", "arm", "samples", "certified", "regret"]),
            ("outcomes", ["method", "case", "run", "arm", "risk", "below", "above", "within"]),
        ):
            before = getattr(stored, key)
            own = before[before["patient"] == name][columns]
            _require_equal(f"{name}, {key}", own, getattr(again, key)[columns])
    bolus.publish_tables(session, stored)


def _require_equal(what: str, stored: pd.DataFrame, again: pd.DataFrame) -> None:
    one, other = (frame.reset_index(drop=True) for frame in (stored, again))
    if not one.equals(other.astype(one.dtypes.to_dict())):
        sys.exit(f"{what} comes out otherwise today: run all of it by `surefoot reproduce`")
    print(f"{what}: the same to the bit", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
