"""`python -m benchmarks [names]`: every claim of speed, memory or sample count, measured now on
this machine.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    # the targets are for one core; must be set before numpy loads
    os.environ.setdefault(variable, "1")

from rich.console import Console
from rich.table import Table

from benchmarks import NAMES
from benchmarks.page import code_of

VERDICTS = {True: "met", False: "MISSED", None: ""}


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
        rows: list[dict[str, object]] = []
        code = code_of(name)
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            rows.append(asdict(row) | {"digest": code})
            table.add_row(row.work, row.measured, row.target, VERDICTS[row.met])
            # long benchmarks show what they have
            progress.print(f"{row.work}: {row.measured} {VERDICTS[row.met]}", markup=False)
        console.print(table)
        _keep(name, rows)


def _keep(name: str, rows: list[dict[str, object]]) -> None:
    """Beside the last rows of the other benchmarks, and of other parts of this one that today's
    code printed.
    """
    out = Path("results") / "benchmarks.json"
    out.parent.mkdir(exist_ok=True)
    results = json.loads(out.read_text()) if out.exists() else {}
    before = [row for row in results.get(name, []) if row.get("digest") == code_of(name)]
    kept = {row["work"]: row for row in [*before, *rows]}
    out.write_text(json.dumps(results | {name: list(kept.values())}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
