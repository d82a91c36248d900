"""The page of a result or a study, one file with everything in it, and its form in notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from surefoot.algorithms import Result
from surefoot.system.progress import printable
from surefoot.view.charts import arms_frame
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.drawing import DARK, LIGHT, config, vega_script
from surefoot.view.charts.evidence import evidence_drawing, limit_drawings
from surefoot.view.charts.pulls import allocation_drawing, bounds_drawing, residuals_drawing
from surefoot.view.report.facts import (
    arm_rows,
    certificate,
    correction_facts,
    estimated_hardness,
    said_of_arms,
    settings_facts,
    simulator_facts,
    state_words,
)

if TYPE_CHECKING:
    import jinja2

    from surefoot.design.hardness import Complexity
    from surefoot.study import StudyReader
    from surefoot.view.charts.drawing import Drawing

LIMITS = [f"limit{number}" for number in range(1, 9)]  # no more of them are drawn
# The order on a page, and the text for screen readers; the tables hold the numbers.
DESCRIPTIONS = {
    "evidence": "Line chart: evidence against the closest rivals at each look, and the boundary "
    "it has to reach",
    "arms": "Chart: the estimated worst case of each arm with its interval; the table of "
    "arms holds the numbers",
    **dict.fromkeys(
        LIMITS,
        "Chart: what a limit is held against for each arm, with its interval, and the limit as a "
        "line",
    ),
    "allocation": "Heat map: the share of each phase's pulls that each pair had",
    "bounds": "Chart: the pulls of this run beside the lower bound and what is predicted for "
    "other algorithms",
    "residuals": "Scatter plot: how far each pair's average reward is from the model, in "
    "standard errors",
    "pace": "Bar chart: rewards in each of the last minutes",
}


def drawings(result: Result, hardness: Complexity | None = None) -> dict[str, Drawing]:
    """Return the charts of a result by name; empty before the first phase."""
    if not result.samples:
        return {}
    found = {
        "arms": arms_drawing(result),
        "allocation": allocation_drawing(result),
    }
    if result.model_is_trusted:
        found["residuals"] = residuals_drawing(result)
    found |= dict(zip(LIMITS, limit_drawings(result), strict=False))
    evidence = evidence_drawing(result)
    if not evidence.tables["evidence"].empty:
        found["evidence"] = evidence
    if hardness is not None and result.settings.modelled:
        found["bounds"] = bounds_drawing(result, hardness)
    return {name: found[name] for name in DESCRIPTIONS if name in found}


def configurations() -> dict[str, Any]:
    """Return the looks of all charts on light and on dark pages."""
    return {"light": config(LIGHT), "dark": config(DARK)}


def safe_json(value: Any) -> str:
    """Return JSON that cannot end the script element around it, for any names in it."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


FOLDER = Path(__file__).parent / "assets"


def result_page(result: Result, title: str = "Surefoot") -> str:
    """Return a result as a self-contained HTML page."""
    return _page(result, title, state_words("finished", result.certified, result.reason))


def study_page(reader: StudyReader, kept: bool = True) -> str:
    """Return a study as a self-contained HTML page, as it is now.

    Args:
        kept: whether its file stays, so that it is worth naming.
    """
    result, status = reader.recorded, reader.status()
    return _page(
        result,
        reader.name,
        state_words(status.doing, result.certified, result.reason),
        place=printable(f"{reader.path.absolute().parent.name}/{reader.path.name}" if kept else ""),
        message=status.message if status.state == "paused" else None,
        told=status.told,
        settings=settings_facts(result, reader),
        failures=reader.failures().to_dict("records"),
        corrections=correction_facts(reader),
        simulators=simulator_facts(reader),
        changes=status.changes,
        configuration=json.dumps(reader.configuration, indent=1) if reader.configuration else None,
    )


def _page(result: Result, title: str, state: str, **more: Any) -> str:
    hardness = estimated_hardness(result)
    drawn = drawings(result, hardness)
    values = {
        "title": title,
        "state": state,
        "result": result,
        "certificate": certificate(result, hardness),
        "arms": arm_rows(arms_frame(result)),
        "said_of_arms": said_of_arms(result.problem.n_arms),
        "settings": settings_facts(result),
        "figures": {name: DESCRIPTIONS[name] for name in drawn},
    }
    specs = {name: drawing.spec() for name, drawing in drawn.items()}
    return standalone(environment().get_template("report.html"), specs, values | more)


def standalone(
    template: jinja2.Template, specs: dict[str, Any], values: dict[str, Any], style: str = ""
) -> str:
    """Return a page with its charts, its style and all that draws them in it.

    Args:
        template: one that extends `standalone.html`.
        specs: the charts by name.
        style: in addition to that of all pages.
    """
    style, scripts = style_sheet() + style, [vega_script(), charts_script()]
    return template.render(
        values,
        payload=safe_json({"configs": configurations(), "charts": specs}),
        style=style,
        scripts=scripts,
        policy=_content_policy(style, *scripts),
    )


def _content_policy(style: str, *scripts: str) -> str:
    """Return a policy that runs our own scripts and style only, and fetches nothing."""
    allowed = " ".join(f"'{fingerprint(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{fingerprint(style)}'; img-src data:"
    )


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Return the templates of these packages and of reports, in which every value is escaped."""
    import jinja2

    folders = [
        jinja2.PackageLoader(name, "templates") for name in (*packages, "surefoot.view.report")
    ]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )


@cache
def style_sheet() -> str:
    """Return the style of every page."""
    return (FOLDER / "style.css").read_text(encoding="utf-8")


@cache
def charts_script() -> str:
    """Return the script that draws the charts of a page."""
    return (FOLDER / "charts.js").read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    """Return the digest by which a Content-Security-Policy knows this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def notebook_summary(result: Result) -> str:
    """Return the answer, the certificate and the phases; the charts are in
    `surefoot.view.charts`.
    """
    row = Markup("<tr><th>{}</th><td>{}</td><td>{}</td></tr>")
    facts = Markup("").join(
        row.format(fact.name, fact.value, fact.note) for fact in certificate(result)
    )
    beside = Markup("").join(Markup("<p>{}</p>").format(said) for said in result.beside)
    phases = result.to_frame().to_html(
        index=False, border=0, float_format=lambda value: f"{value:.3g}", escape=True
    )
    return (
        f"<div><p><strong>{escape(result.sentence)}</strong></p>{beside}<table>{facts}</table>"
        f"<details><summary>{len(result.history)} phases</summary>{phases}</details></div>"
    )
