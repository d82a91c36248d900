"""A result in a notebook's cell: words and numbers, no script."""

from __future__ import annotations

from markupsafe import Markup, escape

from surefoot.algorithms import Result
from surefoot.view.report.facts import certificate


def notebook_summary(result: Result) -> str:
    """The answer, the certificate and the phases; the charts are in `surefoot.view.charts`."""
    row = Markup("<tr><th>{}</th><td>{}</td><td>{}</td></tr>")
    facts = Markup("").join(
        row.format(fact.name, fact.value, fact.note) for fact in certificate(result)
    )
    phases = result.to_frame().to_html(
        index=False, border=0, float_format=lambda value: f"{value:.3g}", escape=True
    )
    return (
        f"<div><p><strong>{escape(result.sentence)}</strong></p><table>{facts}</table>"
        f"<details><summary>{len(result.history)} phases</summary>{phases}</details></div>"
    )
