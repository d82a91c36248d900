"""`python -m benchmarks.page`: the tables of the documentation, from the rows last printed.

A page says which rows it wants by a marked place, which is filled in anew:

    <!-- measured peers pivot ^game -->
    <!-- /measured -->

are the rows of the benchmark `peers` whose work begins with "game". With `pivot`, what stands after
the last colon of a row's work names its column.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PRINTED = ROOT / "results" / "benchmarks.json"
MEASURED = Path(__file__).parent / "data" / "measured.json"
PLACE = re.compile(
    r"(<!-- measured (?P<name>\S+)(?P<pivot> pivot)?(?: (?!-->)(?P<chosen>[^\n]+?))? -->\n)"
    r".*?(<!-- /measured -->)",
    re.DOTALL,
)
VERDICTS = {True: "met", False: "**missed**", None: ""}
Rows = list[dict[str, Any]]


def main() -> None:
    measured = json.loads(MEASURED.read_text()) | json.loads(PRINTED.read_text())
    MEASURED.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    for page in pages():
        page.write_text(filled(page.read_text(), measured))


def pages() -> list[Path]:
    """Every page that has a marked place."""
    every = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    return [page for page in every if PLACE.search(page.read_text())]


def filled(text: str, measured: dict[str, Rows]) -> str:
    """The page with the rows that were measured in all its places."""

    def table(place: re.Match[str]) -> str:
        chosen = re.compile(place["chosen"] or "")
        rows = [row for row in measured.get(place["name"], []) if chosen.search(row["work"])]
        shown = _pivot(rows) if place["pivot"] else _plain(rows)
        return f"{place[1]}\n{shown}\n{place[5]}"

    return PLACE.sub(table, text)


def _plain(rows: Rows) -> str:
    lines = [(row["work"], row["measured"], row["target"], VERDICTS[row["met"]]) for row in rows]
    return _markdown([("", "measured", "target", ""), *lines])


def _pivot(rows: Rows) -> str:
    """One line per work, one column per contender."""
    columns: list[str] = []
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        work, _, column = row["work"].rpartition(": ")
        if column not in columns:
            columns.append(column)
        verdict = f" ({row['target']}: {VERDICTS[row['met']]})" if row["target"] else ""
        lines.setdefault(work, {})[column] = row["measured"] + verdict
    body = [(work, *(cells.get(column, "") for column in columns)) for work, cells in lines.items()]
    return _markdown([("", *columns), *body])


def _markdown(lines: list[tuple[str, ...]]) -> str:
    head, *body = (
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body]) + "\n"


if __name__ == "__main__":
    main()
