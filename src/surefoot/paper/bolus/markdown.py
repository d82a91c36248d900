"""The dosing tables as Markdown, for the documentation: no figure there is written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from surefoot.experiments.session.output import markdown_table
from surefoot.paper.bolus.evaluation import METRICS
from surefoot.paper.bolus.tables import COLUMNS, SHARES, share

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.experiments.session.publication import Claim


def markdown(
    outcomes: pd.DataFrame, methods: pd.DataFrame, truth: str, claims: Iterable[Claim]
) -> str:
    """Table 1, Table 2, the methods against the truth, and the paper's conclusions."""
    parts = []
    for number, (case, rows) in enumerate(outcomes.groupby("case", sort=False), 1):
        parts.append(
            f"**Table {number}, {case}** (mean ± standard deviation over patients and runs)"
        )
        parts.append(_outcomes(rows))
    parts += [
        "**Against the truth**",
        _methods(methods),
        truth,
        "**The paper's conclusions, in our figures**",
    ]
    parts.append("\n".join(f"- {c.verdict}: {c.text} ({c.numbers})" for c in claims))
    return "\n\n".join(parts) + "\n"


def _outcomes(rows: pd.DataFrame) -> str:
    lines: list[tuple[str, ...]] = [("method", "", *COLUMNS.values())]
    for row in rows.to_dict("records"):
        for source, prefix in (("ours", ""), ("paper", "paper_")):
            if row[f"{prefix}risk"] == row[f"{prefix}risk"]:
                cells = (
                    f"{row[f'{prefix}{m}']:.2f} ± {row[f'{prefix}{m}_sd']:.2f}" for m in METRICS
                )
                lines.append((str(row["method"]), source, *cells))
    return markdown_table(lines)


def _methods(methods: pd.DataFrame) -> str:
    lines: list[tuple[str, ...]] = [
        (
            "method",
            "rules",
            "mean pulls, all",
            "of these, pilot",
            "median, all",
            *SHARES.values(),
            "mean regret",
            "most",
        )
    ]
    for row in methods.to_dict("records"):
        pulls = (f"{row[name]:,.0f}" for name in ("samples", "pilot", "samples_median"))
        shares = (share(row[column]) for column in SHARES)
        regrets = (f"{row['regret']:.2f}", f"{row['regret_most']:.2f}")
        lines.append((str(row["method"]), str(row["rules"]), *pulls, *shares, *regrets))
    return markdown_table(lines)
