"""`python -m benchmarks [names]`: every claim of speed, memory or sample count, measured now on
this machine.

Rows are kept in `results/benchmarks.json` as they come, and a benchmark that was stopped goes on
where it was. A first look, with other runs or cells than a table has, is shown and not kept.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    # the targets are for one core; must be set before numpy loads
    os.environ.setdefault(variable, "1")

from rich.console import Console
from rich.table import Table

from benchmarks import NAMES
from benchmarks.page import code_of
from benchmarks.spread import TimeIsUp, kept_in

VERDICTS = {True: "met", False: "MISSED", None: ""}
FEWER = ("SUREFOOT_BENCH_RUNS", "SUREFOOT_BENCH_CELLS", "SUREFOOT_BENCH_PEERS", "SUREFOOT_PATIENTS")
REST = "rows that are still to be printed"
STOPPED = 75  # exit code of what can go on: EX_TEMPFAIL


def main(names: list[str]) -> None:
    names = [name.replace("-", "_") for name in names]
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"unknown benchmark {sorted(unknown)}: choose among {', '.join(NAMES)}")
    console, progress = Console(width=150), Console(stderr=True, width=150, highlight=False)
    for name in names or NAMES:
        table = Table(title=name, title_justify="left")
        for column in ("work", "measured", "target", ""):
            table.add_column(column)
        rows: list[dict[str, Any]] = []
        code, kept = code_of(name), not set(FEWER) & set(os.environ)
        runs = Path("results") / ".unfinished" / f"benchmark-{name}-{code}.pickle"
        try:
            with kept_in(runs if kept else None):
                for row in importlib.import_module(f"benchmarks.{name}").rows():
                    rows.append(asdict(row) | {"digest": code})
                    table.add_row(row.work, row.measured, row.target, VERDICTS[row.met])
                    # long benchmarks show what they have
                    progress.print(f"{row.work}: {row.measured} {VERDICTS[row.met]}", markup=False)
                    if kept:
                        keep(name, rows, complete=False)
        except TimeIsUp as left:
            sys.stderr.write(f"{name}: the time is up, {left}: the same command goes on\n")
            sys.exit(STOPPED)
        console.print(table)
        if kept:
            keep(name, rows, complete=True)


def keep(name: str, rows: list[dict[str, Any]], complete: bool) -> None:
    """Write a benchmark's rows beside those of the others; a mark says that some are missing."""
    out = Path("results") / "benchmarks.json"
    out.parent.mkdir(exist_ok=True)
    results = json.loads(out.read_text()) if out.exists() else {}
    missing = {"work": REST, "measured": "", "target": "", "met": None, "digest": ""}
    results[name] = rows if complete else [*rows, missing]
    out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
