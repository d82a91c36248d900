"""Charts of the dosing experiment: outcomes, regret, glucose over time and over the day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from surefoot.errors import InputError
from surefoot.paper.bolus.methods import LABELS, METHODS, WORST_OF_ALL
from surefoot.paper.bolus.patient import CASES, METRIC_TITLES, METRICS
from surefoot.paper.bolus.problem import DISCLAIMER
from surefoot.paper.glucose.metrics import HIGH, LOW
from surefoot.view.charts.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Drawing,
    config,
    inline,
    layered,
    require_columns,
    table,
)


def outcomes_chart(summary: pd.DataFrame) -> Any:
    """Draw our means and the paper's, one panel per metric and case; bars are standard deviations
    over patients and runs.
    """
    rows = []
    for row in summary.to_dict("records"):
        for source, prefix in (("ours", ""), ("paper", "paper_")):
            for metric in METRICS:
                mean, deviation = row[f"{prefix}{metric}"], row[f"{prefix}{metric}_sd"]
                if mean is not None and mean == mean:
                    place = {"case": row["case"], "method": row["method"], "source": source}
                    bar = {
                        "metric": METRIC_TITLES[metric],
                        "mean": mean,
                        **_bar(metric, mean, deviation),
                    }
                    rows.append(place | bar)
    panels = [
        [_panel(pd.DataFrame(rows), case, METRIC_TITLES[metric]) for metric in METRICS]
        for case in CASES
    ]
    chart = alt.vconcat(*(alt.hconcat(*row) for row in panels))
    title = {
        "text": "Five-day outcomes of virtual patients, beside the paper's tables",
        "subtitle": ["mean and standard deviation over patients and runs", DISCLAIMER],
    }
    return chart.properties(title=title, config=alt.Config(**config()))


def _bar(metric: str, mean: float, deviation: float) -> dict[str, float]:
    """Return one standard deviation to either side, as far as the metric goes."""
    most = math.inf if metric == "risk" else 100.0
    return {"low": max(mean - deviation, 0.0), "high": min(mean + deviation, most)}


def _panel(rows: pd.DataFrame, case: str, metric: str) -> Any:
    chosen = rows[(rows["case"] == case) & (rows["metric"] == metric)]
    colour = alt.Color(
        "source:N",
        scale=alt.Scale(domain=["ours", "paper"], range=[BLUE, ORANGE]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    first = metric == METRIC_TITLES[METRICS[0]]
    y = alt.Y(
        "method:N",
        sort=[*LABELS, WORST_OF_ALL],
        title=None,
        axis=alt.Axis(labels=first, ticks=first, labelLimit=200),
    )
    base = alt.Chart(inline(chosen)).encode(
        y=y, yOffset=alt.YOffset("source:N", sort=["ours", "paper"]), color=colour
    )
    bars = base.mark_rule(opacity=0.35).encode(x=alt.X("low:Q", title=metric), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("mean:Q", title=metric),
        shape=alt.Shape(
            "source:N", scale=alt.Scale(domain=["ours", "paper"], range=["circle", "diamond"])
        ),
        tooltip=[
            "method:N",
            "source:N",
            alt.Tooltip("mean:Q", format=".2f"),
            alt.Tooltip("low:Q", format=".2f"),
        ],
    )
    return alt.layer(bars, points).properties(width=150, height=150, title=case if first else "")


def regret_chart(choices: pd.DataFrame) -> Any:
    """Return each method's mean regret in worst-case reward, patient by patient."""
    means = choices.groupby(["patient", "method"], sort=False)["regret"].mean().reset_index()
    names = [method.label for method in METHODS if (means["method"] == method.label).any()]
    base = alt.Chart(inline(means)).encode(
        x=alt.X("patient:N", sort=None, title=None, axis=alt.Axis(labelAngle=-90)),
        y=alt.Y("method:N", sort=names, title=None, axis=alt.Axis(labelLimit=200)),
    )
    scale = alt.Scale(type="sqrt", range=["#fdf6ef", "#a63603"])
    cells = base.mark_rect(stroke="#ffffff").encode(
        color=alt.Color("regret:Q", scale=scale, legend=alt.Legend(title="regret")),
        tooltip=["patient:N", "method:N", alt.Tooltip("regret:Q", format=".2f")],
    )
    found = base.transform_filter("datum.regret == 0").mark_text(text="✓", color=GREY)
    title = {
        "text": "How far each choice is from the best worst case",
        "subtitle": "a tick: the best setting every time; the truth is found by exhaustive "
        "simulation",
    }
    chart = alt.layer(cells, found).properties(width=alt.Step(22), height=alt.Step(28), title=title)
    return chart.properties(config=alt.Config(**config()))


PANEL_WIDTH = 330
QUANTILES = ("p5", "p25", "p50", "p75", "p95")
LEAST_TOP = 250  # mg/dL: the axis goes at least that far, so that charts are easily compared
MARKED = (54, 70, 140, 180, 250)  # mg/dL: clinical limits


def profile_drawing(frame: pd.DataFrame, title: str, top: float | None = None) -> Drawing:
    """Draw median, 25–75 % and 5–95 % bands of glucose over the day, and the target range.

    Args:
        frame: columns `hour` (0 to 24) and `p5`, `p25`, `p50`, `p75`, `p95` (mg/dL).
        top: end of the axis, in mg/dL; give one value to all charts that are compared.
    """
    require_columns(frame, "hour", *QUANTILES)
    if frame.empty:
        raise InputError("the profile has no rows: give one for each time of the day")
    ending = axis_top([frame]) if top is None else top
    target = pd.DataFrame([{"low": LOW, "high": HIGH, "name": f"target {LOW:g}–{HIGH:g}"}])
    tables = {"profile": frame[["hour", *QUANTILES]], "target": target}
    subtitle = "median, 25–75 % and 5–95 % of all days"
    return Drawing(_template, (int(ending),), tables, title, subtitle)


def side_by_side(drawings: Sequence[Drawing], title: str) -> dict[str, Any]:
    """Return profiles in rows of two, as one specification, which Altair takes seconds to read."""
    panels: list[Any] = []
    datasets: dict[str, Any] = {}
    for number, drawing in enumerate(drawings):
        spec = drawing.spec()
        rows = spec.pop("datasets")
        datasets |= {f"{name}-{number}": values for name, values in rows.items()}
        schema = spec.pop("$schema")
        panels.append(_renamed(spec, number) | {"width": PANEL_WIDTH})
    whole = {"concat": panels, "columns": 2, "datasets": datasets, "title": title}
    return whole | {"$schema": schema, "config": config()}


def _renamed(part: Any, number: int) -> Any:
    """Return a specification whose marks refer to the tables of one of many drawings."""
    if isinstance(part, dict):
        if set(part) == {"name"}:
            return {"name": f"{part['name']}-{number}"}
        return {key: _renamed(value, number) for key, value in part.items()}
    return [_renamed(value, number) for value in part] if isinstance(part, list) else part


def axis_top(frames: Sequence[pd.DataFrame]) -> int:
    """Return the common end of all these profiles' axes: a round number above the highest band."""
    highest = max(float(frame["p95"].max()) for frame in frames)
    return int(max(LEAST_TOP, 50 * -(-highest // 50)))


def _template(top: int) -> alt.LayerChart:
    return layered(_target(top), *_bands(), _median(), height=220)


def _target(top: int) -> Any:
    marks = [level for level in MARKED if level <= top] + list(range(300, top + 1, 50))
    scale, axis = alt.Scale(domain=[0, top], nice=False), alt.Axis(values=marks)
    y = alt.Y("low:Q", title="glucose (mg/dL)", scale=scale, axis=axis)
    area = table("target").mark_rect(color=GREEN, opacity=0.14).encode(y=y, y2="high:Q")
    ends = [
        table("target").mark_rule(color=GREEN, strokeWidth=1.5).encode(y=f"{end}:Q")
        for end in ("low", "high")
    ]
    label = table("target").mark_text(align="left", dx=4, dy=9, x=0, baseline="middle")
    return alt.layer(area, *ends, label.encode(y="high:Q", text="name:N"))


def _bands() -> list[Any]:
    return [
        table("profile")
        .mark_area(color=BLUE, opacity=opacity)
        .encode(x=_hours(), y=f"{low}:Q", y2=f"{high}:Q")
        for low, high, opacity in (("p5", "p95", 0.28), ("p25", "p75", 0.5))
    ]


def _median() -> Any:
    shown = [alt.Tooltip(f"{name}:Q", format=".0f") for name in QUANTILES]
    line = table("profile").mark_line(color=BLUE, strokeWidth=3)
    return line.encode(x=_hours(), y="p50:Q", tooltip=[alt.Tooltip("hour:Q", format=".1f"), *shown])


def _hours() -> alt.X:
    axis = alt.Axis(
        values=[0, 6, 12, 18, 24], labelExpr="format(datum.value, '02d') + ':00'", grid=True
    )
    scale = alt.Scale(domain=[0, 24], nice=False)
    return alt.X("hour:Q", title="time of day", scale=scale, axis=axis)
