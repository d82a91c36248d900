"""The page of a result or a study: one file with everything in it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from surefoot.algorithms import Result
from surefoot.system.display import printable
from surefoot.view.charts import arms_frame
from surefoot.view.report import assets
from surefoot.view.report.drawings import DESCRIPTIONS, configurations, drawings, safe_json
from surefoot.view.report.facts import (
    arm_rows,
    certificate,
    correction_facts,
    settings_facts,
    state_words,
)
from surefoot.view.report.hardness import estimated_hardness

if TYPE_CHECKING:
    import jinja2

    from surefoot.study import StudyReader
    from surefoot.study.file.reader import Status


def result_page(result: Result, title: str = "Surefoot") -> str:
    """A result as a self-contained HTML page."""
    return _page(result, 1, title, state_words("finished", result.certified, result.reason))


def study_page(reader: StudyReader) -> str:
    """A study as a self-contained HTML page, as it is now."""
    result, status = reader.recorded, reader.status()
    return _page(
        result,
        reader.sign,
        reader.name,
        state_words(_state(status), result.certified, result.reason),
        place=printable(f"{reader.path.absolute().parent.name}/{reader.path.name}"),
        message=status.message if status.state == "paused" else None,
        told=status.told,
        settings=settings_facts(result, reader),
        failures=reader.failures().to_dict("records"),
        corrections=correction_facts(reader),
        configuration=json.dumps(reader.configuration, indent=1) if reader.configuration else None,
    )


def _state(status: Status) -> str:
    """A study that is running in name, but that nobody runs, was interrupted."""
    running = status.state == "running" and status.told and not status.asked
    return "interrupted" if running and not status.writer else status.state


def _page(result: Result, sign: int, title: str, state: str, **more: Any) -> str:
    hardness = estimated_hardness(result)
    drawn = drawings(result, sign, hardness)
    values = {
        "title": title,
        "state": state,
        "result": result,
        "certificate": certificate(result, hardness),
        "arms": arm_rows(arms_frame(result, sign)),
        "settings": settings_facts(result),
        "figures": {name: DESCRIPTIONS[name] for name in drawn},
    }
    specs = {name: drawing.spec() for name, drawing in drawn.items()}
    return standalone(environment().get_template("report.html"), specs, values | more)


def standalone(
    template: jinja2.Template, specs: dict[str, Any], values: dict[str, Any], style: str = ""
) -> str:
    """A page with its charts, its style and all that draws them in it.

    Args:
        template: one that extends `standalone.html`.
        specs: the charts by name.
        style: in addition to that of all pages.
    """
    style, scripts = assets.style() + style, [assets.vega_script(), assets.charts_script()]
    return template.render(
        values,
        payload=safe_json({"configs": configurations(), "charts": specs}),
        style=style,
        scripts=scripts,
        policy=content_policy(style, *scripts),
    )


def content_policy(style: str, *scripts: str) -> str:
    """Only the scripts and the style that we wrote run, and nothing is fetched from anywhere."""
    allowed = " ".join(f"'{assets.fingerprint(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src "
        f"'{assets.fingerprint(style)}'; img-src data:"
    )


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Templates of these packages and of reports, in which every value is escaped."""
    import jinja2

    folders = [
        jinja2.PackageLoader(name, "templates") for name in (*packages, "surefoot.view.report")
    ]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
