"""Files of an experiment: tables, figures, claims, and a sidecar with their origin; and the tables
on the terminal.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surefoot.experiments.session import Session, code_digest, versions
from surefoot.experiments.sources import digest

if TYPE_CHECKING:
    import pandas as pd

BEYOND_DOUBT = 2.0  # standard errors
FEWEST = 20  # runs: of fewer the standard errors themselves are unknown, and nothing is decided
Verdict = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, held against our runs.

    Attributes:
        text: the sentence, in the paper's words where that is possible.
        where: the part of the paper that says it.
        verdict: by the rule of two standard errors.
        numbers: the evidence, each with its standard error.
        reading: the interpretation where the sentence is ambiguous.
    """

    text: str
    where: str
    verdict: Verdict
    numbers: str
    reading: str = ""

    @property
    def markup(self) -> str:
        """Lines for a terminal, as rich understands them."""
        colour = {"holds": "green", "fails": "red"}.get(self.verdict, "yellow")
        reading = f"\n      ({self.reading})" if self.reading else ""
        return f"  [{colour}]{self.verdict}[/]: {self.text}\n      {self.numbers}{reading}"


def judged(margins: Iterable[tuple[float, float]]) -> Verdict:
    """Return the verdict on a claim that needs every margin to be above zero.

    It fails if one margin is below zero by more than two standard errors, holds if all are above by
    as much, and is undecided otherwise.

    Args:
        margins: each with its standard error; NaN where one run says nothing about it.
    """
    given = list(margins)
    if any(margin < -BEYOND_DOUBT * error for margin, error in given):
        return "fails"
    sure = all(margin > BEYOND_DOUBT * error for margin, error in given)
    return "holds" if given and sure else "undecided"


def plus_minus(value: float, error: float, digits: int = 2) -> str:
    """Return a number with its standard error, if there is one."""
    shown = f"{value:.{digits}f}"
    return f"{shown} ± {error:.{digits}f}" if math.isfinite(error) else f"{shown} from one run"


@dataclass(frozen=True)
class Screen:
    """A table for a terminal.

    Attributes:
        title: stands above it.
        heads: stand above the columns.
        groups: rows of cells, with a line after each group.
        dense: True for many columns, with one space between them.
    """

    title: str
    heads: tuple[str, ...]
    groups: Sequence[Sequence[tuple[str, ...]]]
    dense: bool = False

    def drawn(self) -> Any:
        """Return the table as rich prints it."""
        from rich.table import Table

        padding = (0, 1, 0, 0) if self.dense else (0, 1)
        table = Table(*self.heads, title=self.title, title_justify="left", padding=padding)
        for rows in self.groups:
            for cells in rows:
                table.add_row(*cells)
            table.add_section()
        return table


@dataclass(frozen=True)
class PrintedTable:
    """A table for documents; each row names the code that decides it.

    Attributes:
        heads: above the columns.
        rows: the cells of each row.
        roots: for each row the definitions that decide it, as of `sources.digest`.
    """

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    roots: Sequence[tuple[str, ...]]

    def markdown(self) -> str:
        return _markdown_table([self.heads, *self.rows]) + "\n"

    def latex(self) -> str:
        """Return the table with the rules of booktabs."""
        lines = [" & ".join(map(_tex, row)) + r" \\" for row in (self.heads, *self.rows)]
        body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        columns = "l" + "r" * (len(self.heads) - 1)
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", ""])

    def screen(self, title: str, dense: bool = False) -> Screen:
        """Return the table for a terminal."""
        return Screen(title, self.heads, [self.rows], dense)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with today's digest of each row."""
        rows = [
            {"cells": list(cells), "roots": list(roots), "digest": digest(*roots)}
            for cells, roots in zip(self.rows, self.roots, strict=True)
        ]
        return {"heads": list(self.heads), "rows": rows}


@dataclass(frozen=True, eq=False)
class Publication:
    """The files of one experiment, and its tables on the terminal.

    A key follows the experiment's name in a file's name.

    Attributes:
        name: of the experiment.
        tables: every row, written as CSV and Parquet.
        charts: Altair charts, written as PNG, SVG and HTML.
        printed: tables for documents, written as Markdown and LaTeX, and together as JSON with the
            digests of their rows.
        claims: the paper's, as one more printed table.
        roots: the code that decides the claims.
        facts: of the sidecar, besides command, seed, runs, versions and code.
        texts: written as they are; their keys hold the ending.
        screens: the tables of the terminal.
        remarks: sentences below these.
        judged_by: how the claims are judged, in a few words.
        note: the last sentence on the terminal.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    charts: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, PrintedTable] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    roots: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    screens: Sequence[Screen] = ()
    remarks: Sequence[str] = ()
    judged_by: str = ""
    note: str = ""


def publish(session: Session, publication: Publication) -> None:
    """Write all files of an experiment into the session's folder at once; then show it."""
    _write_files(session, publication)
    console = console_for_output()
    for screen in publication.screens:
        console.print(screen.drawn())
    for remark in publication.remarks:
        console.print(remark, highlight=False)
    if publication.claims:
        console.print(f"The paper's claims ({publication.judged_by}):")
    for claim in publication.claims:
        console.print(claim.markup, highlight=False)
    note = f". {publication.note}" if publication.note else ""
    console.print(f"written to {session.out}/{publication.name}*{note}", highlight=False)


def _write_files(session: Session, publication: Publication) -> None:
    from surefoot.view.charts import save

    printed = dict(publication.printed)
    if publication.claims:
        printed["claims"] = _claims_table(publication.claims, publication.roots)
    with session.folder.staged() as stage:
        stem = stage / publication.name
        for key, chart in publication.charts.items():
            save(chart, _beside(stem, key))
        for key, frame in publication.tables.items():
            _write_table(frame, _beside(stem, key))
        for key, table in printed.items():
            _write(_beside(stem, f"-{key}.md"), table.markdown())
            _write(_beside(stem, f"-{key}.tex"), table.latex())
        for key, text in publication.texts.items():
            _write(_beside(stem, key), text)
        shown = {key: table.to_json() for key, table in printed.items()}
        _write_json(_beside(stem, "-printed.json"), shown)
        claims = {"claims": [asdict(claim) for claim in publication.claims]}
        origin = _origin(session, dict(publication.facts) | claims)
        _write_json(_beside(stem, ".json"), origin)


def _claims_table(claims: Sequence[Claim], roots: tuple[str, ...]) -> PrintedTable:
    """Return the claims as a table for documents."""
    heads = ("", "claim of the paper", "where", "our figures", "read as")
    rows = [
        (_bold(claim.verdict), claim.text, claim.where, claim.numbers, claim.reading)
        for claim in claims
    ]
    return PrintedTable(heads, rows, [roots] * len(rows))


def short(number: float) -> str:
    """Return a number of samples for people: 9,400, 303 k, 1.22 M."""
    if number >= 999_500:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.0f} k" if number >= 1e5 else f"{number:,.0f}"


def console_for_output() -> Any:
    """Return a console that is wide enough for a table where there is no terminal to ask."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=140)


def _markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Write rows of cells, the headings first, as Markdown without an end of line."""
    rule = ["---"] * len(lines[0])
    rows = (
        [cell.replace("|", r"\|") for cell in cells] for cells in (*lines[:1], rule, *lines[1:])
    )
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def _bold(verdict: Verdict) -> str:
    return verdict if verdict == "holds" else f"**{verdict}**"


TEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "−": "$-$", "∝": r"$\propto$", "×": r"$\times$"}
TEX |= {"≤": r"$\leq$", "≥": r"$\geq$", "δ": r"$\delta$", "γ": r"$\gamma$", "√": r"$\surd$"}
TEX |= {"ε": r"$\varepsilon$", "λ": r"$\lambda$", "θ": r"$\theta$", "Δ": r"$\Delta$"}
TEX |= {"∞": r"$\infty$", "‖": r"$\|$", "₀": "$_0$", "₁": "$_1$", "²": "$^2$", "→": r"$\to$"}
TEX |= {"…": r"\ldots{}", "–": "--"}
TEX |= {sign: f"${sign}$" for sign in "<>|"} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
TEX |= {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "*": ""}


def _tex(cell: str) -> str:
    return "".join(TEX.get(letter, letter) for letter in cell)


def _beside(stem: Path, key: str) -> Path:
    return stem.with_name(stem.name + key)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    _write(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def _write_table(frame: pd.DataFrame, stem: Path) -> None:
    frame.to_csv(_beside(stem, ".csv"), index=False, lineterminator="\n")
    frame.to_parquet(_beside(stem, ".parquet"), index=False)


def _origin(session: Session, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command that repeats the experiment, and the versions used."""
    return {
        "command": session.command,
        "seed": session.seed,
        "runs": session.runs,
        **facts,
        "versions": versions(),
        "code": code_digest(),
    }
