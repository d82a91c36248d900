"""`python -m benchmarks.page`: the tables of README and docs, from the rows last printed.

A page says which rows it wants by a marked place, which is filled in anew:

    <!-- measured peers pivot ^game -->
    <!-- /measured -->

are the rows of the benchmark `peers` whose work begins with "game". With `pivot`, the words after
the last colon of a row's work name its column. `<!-- printed unit-sphere summary -->` is a table of
`surefoot reproduce unit-sphere`; `<!-- measured README -->` the selection below.

Every row is stored with a digest of the sources that decide it. A row whose digest is not today's
is withdrawn: its figures leave the page until they are printed anew, by `make tables`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from surefoot.algorithms import ALGORITHMS, home_of
from surefoot.experiments.sources import digest
from surefoot.paper.figure1 import HOMES

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
RESULTS = ROOT / "results"
MEASURED = HERE / "data" / "measured.json"  # rows of benchmarks
PRINTED = HERE / "data" / "printed.json"  # tables of `surefoot reproduce`
IMAGES = {  # of docs/images, and the figure of `surefoot reproduce` that each is
    "figure1-irrelevant-dimensions.svg": "irrelevant-dimensions.svg",
    "figure1-unit-sphere.svg": "unit-sphere.svg",
    "bolus.svg": "bolus.svg",
    "bolus-regret.svg": "bolus-regret.svg",
    "peers.svg": "peers.svg",
}
PLACE = re.compile(
    r"(?P<head><!-- (?P<kind>measured|printed) (?P<name>\S+)(?P<pivot> pivot)?"
    r"(?: (?!-->)(?P<chosen>[^\n]+?))? -->\n).*?(?P<tail><!-- /(?P=kind) -->)",
    re.DOTALL,
)
VERDICTS = {True: "met", False: "**missed**", None: ""}
WITHDRAWN = "withdrawn"
SELECTED = (  # README's rows: the words, the benchmark, which of its rows
    (
        "samples of PRIME over those of the paper's oracle, which knows θ (geometric mean, and "
        "each of five instances): Gaussian; sub-Gaussian; one unknown scale",
        "samples",
        r"geometric mean$",
    ),
    ("samples of Robust RAGE, paper's rules, over those of PRIME", "samples", r"^Robust RAGE"),
    (
        "samples of PRIME over the lower bound 2 kl(δ, 1 − δ) H\\*: irrelevant dimensions; "
        "classic; unit sphere of 50",
        "samples",
        r"^PRIME: samples / \(2 kl",
    ),
    ("errors of PRIME at δ = 0.05, three noise models", "samples", r"errors over all runs$"),
    ("exact H\\*, 75 pairs, d = 10", "designs", r"^exact .*75 pairs"),
    ("G-optimal design of 100 000 pairs, d = 50", "designs", r"100.000.*d = 50"),
    ("one simulated day of a virtual patient, over stock simglucose", "glucose", r"stock"),
    ("our own cost a pull", "study", r"cost|overhead"),
    ("`surefoot --help`", "study", r"--help"),
)
Rows = list[dict[str, Any]]


def main() -> None:
    measured, printed = stored()
    for path, known in ((MEASURED, measured), (PRINTED, printed)):
        path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    for page in pages():
        page.write_text(filled(page.read_text(), measured, printed))
    for image, figure in IMAGES.items():
        if (RESULTS / figure).exists():
            shutil.copyfile(RESULTS / figure, ROOT / "docs" / "images" / image)


def stored() -> tuple[dict[str, Rows], dict[str, Any]]:
    """All rows known: those of the repository, or those printed since if these are more of
    today's.
    """
    measured, printed = (json.loads(path.read_text()) for path in (MEASURED, PRINTED))
    since = RESULTS / "benchmarks.json"
    for name, rows in json.loads(since.read_text() if since.exists() else "{}").items():
        if _count("measured", name, rows) >= _count("measured", name, measured.get(name, [])):
            measured[name] = rows
    for path in sorted(RESULTS.glob("*-printed.json")):
        name, tables = path.name.removesuffix("-printed.json"), json.loads(path.read_text())
        if _count("printed", name, tables) >= _count("printed", name, printed.get(name, {})):
            printed[name] = tables
    return measured, printed


def _count(kind: str, name: str, stored: Any) -> int:
    """The number of rows that today's code printed."""
    if kind == "printed":
        return sum(_today(row) for table in stored.values() for row in table["rows"])
    code = code_of(name) if stored and _stands(name) else None
    return sum(row.get("digest") == code for row in stored)


def pages() -> list[Path]:
    """Every page that has a marked place."""
    every = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    return [page for page in every if PLACE.search(page.read_text())]


def places() -> set[tuple[str, str]]:
    """What some page wants: "measured" rows of a benchmark, "printed" tables of an experiment."""
    every = (place for page in pages() for place in PLACE.finditer(page.read_text()))
    found = {(place["kind"], place["name"]) for place in every}
    return (found - {("measured", "README")}) | {("measured", name) for _, name, _ in SELECTED}


def filled(text: str, measured: dict[str, Rows], printed: dict[str, Any]) -> str:
    """The page with today's rows in all its places."""

    def table(place: re.Match[str]) -> str:
        if place["kind"] == "printed":
            shown = _printed(place["name"], printed.get(place["name"], {}).get(place["chosen"]))
        elif place["name"] == "README":
            shown = _selection(measured)
        else:
            chosen = re.compile(place["chosen"] or "")
            rows = [r for r in measured.get(place["name"], []) if chosen.search(r["work"])]
            rows = [_checked(place["name"], row) for row in rows]
            shown = _pivot(rows) if place["pivot"] else _plain(rows)
            if all(row["measured"] == WITHDRAWN for row in rows):
                shown = _none(f"python -m benchmarks {place['name']}")
        return f"{place['head']}\n{shown}\n{place['tail']}"

    return PLACE.sub(table, text)


def fresh(kind: str, name: str, measured: dict[str, Rows], printed: dict[str, Any]) -> bool:
    """Whether all rows of a benchmark or an experiment were printed by today's code."""
    if kind == "printed":
        rows = [row for table in printed.get(name, {}).values() for row in table["rows"]]
        return bool(rows) and all(_today(row) for row in rows)
    rows = measured.get(name, [])
    return bool(rows) and all(row.get("digest") == code_of(name) for row in rows)


@functools.cache
def code_of(name: str) -> str:
    """A digest of what decides the rows of a benchmark: its own file and those beside it that it
    uses, all that these take from surefoot, and every algorithm that they name.
    """
    texts, roots = [], {PRIME}
    left, seen = [name], set[str]()
    while left:
        seen.add(file := left.pop())
        tree = ast.parse((HERE / f"{file}.py").read_text(encoding="utf-8"))
        texts.append(ast.unparse(_bare(tree)))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module.startswith("benchmarks"):
                    named = [node.module.partition(".")[2], *(alias.name for alias in node.names)]
                    left += [n for n in named if n not in seen | SILENT and _stands(n)]
                elif node.module.startswith("surefoot"):
                    roots |= {f"{node.module}:{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Constant) and node.value in ALGORITHMS:
                home, cls = home_of(node.value)
                roots.add(f"{home}:{cls}")
    if any(root.startswith("surefoot.paper.figure1") for root in roots):
        roots |= set(HOMES.values())
    roots -= {PRIME} if name in WITHOUT_PRIME else set()
    whole = "\n".join([*texts, digest(*sorted(roots))])
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


PRIME = "surefoot.plan.prime:Prime"  # runs by default: nothing names it there
WITHOUT_PRIME = {"designs", "glucose", "house", "study"}
SILENT = {"spread", "table"}  # of benchmarks: they spread and hold rows, and decide none


def _stands(name: str) -> bool:
    return (HERE / f"{name}.py").exists()


def _bare(tree: ast.Module) -> ast.Module:
    """Without docstrings; comments are gone already."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = node.body[bool(ast.get_docstring(node)) :] or [ast.Pass()]
    return tree


def _today(row: dict[str, Any]) -> bool:
    """Whether today's code printed a row of an experiment; not if what decided it is gone."""
    try:
        return not row["roots"] or row["digest"] == digest(*row["roots"])
    except ValueError:
        return False


def _checked(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row, or its work alone if it was printed by other code."""
    if row.get("digest") == code_of(name):
        return row
    return {"work": row["work"], "measured": WITHDRAWN, "target": row["target"], "met": None}


def _none(command: str) -> str:
    return (
        f"*Withdrawn: the code that decides these rows has changed since they were printed. "
        f"`{command}` prints them, `make tables` all.*\n"
    )


def _printed(name: str, table: dict[str, Any] | None) -> str:
    command = f"surefoot reproduce {name}"
    if table is None or not any(_today(row) and row["roots"] for row in table["rows"]):
        return _none(command)
    width = len(table["heads"])
    rows = [
        tuple(row["cells"])
        if _today(row)
        else (row["cells"][0], WITHDRAWN, *[""] * (width - 2))[:width]
        for row in table["rows"]
    ]
    return _markdown([tuple(table["heads"]), *rows])


def _selection(measured: dict[str, Rows]) -> str:
    lines = [("what", "command", "measured")]
    for words, name, chosen in SELECTED:
        rows = [r for r in measured.get(name, []) if re.search(chosen, r["work"])]
        cells = [_checked(name, row)["measured"] for row in rows] or [WITHDRAWN]
        shown = WITHDRAWN if WITHDRAWN in cells else "; ".join(cells)
        lines.append((words, f"`python -m benchmarks {name}`", shown))
    return _markdown(lines)


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
