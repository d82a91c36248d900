"""The ambulatory glucose profile: the spread of blood glucose over many days, by time of day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from surefoot.errors import InputError
from surefoot.view.charts.drawing import Drawing, layered, table
from surefoot.view.charts.frames import require_columns
from surefoot.view.charts.theme import BLUE, GREEN, config

if TYPE_CHECKING:
    from collections.abc import Sequence

PANEL_WIDTH = 330
QUANTILES = ("p5", "p25", "p50", "p75", "p95")
LEAST_TOP = 250  # mg/dL: the axis goes at least that far, so that charts are easily compared
MARKED = (54, 70, 140, 180, 250)  # mg/dL: what clinicians look for


def glucose_profile(
    frame: pd.DataFrame, title: str = "Glucose profile", top: float | None = None
) -> alt.LayerChart:
    """Median, 25–75 % and 5–95 % bands of blood glucose over the hours of the day, and the target
    range.

    Args:
        frame: columns `hour` (0 to 24) and `p5`, `p25`, `p50`, `p75`, `p95` (mg/dL).
        top: where the axis ends, in mg/dL; give all charts that are compared the same.
    """
    return profile_drawing(frame, title, top).chart()


def profile_drawing(frame: pd.DataFrame, title: str, top: float | None = None) -> Drawing:
    """`glucose_profile` before it is drawn."""
    from surefoot.paper.glucose.metrics import HIGH, LOW

    require_columns(frame, "hour", *QUANTILES)
    if frame.empty:
        raise InputError("the profile has no rows: give one for each time of the day")
    ending = axis_top([frame]) if top is None else top
    target = pd.DataFrame([{"low": LOW, "high": HIGH, "name": f"target {LOW:g}–{HIGH:g}"}])
    tables = {"profile": frame[["hour", *QUANTILES]], "target": target}
    subtitle = "median, 25–75 % and 5–95 % of all days"
    return Drawing(_template, (int(ending),), tables, title, subtitle)


def side_by_side(drawings: Sequence[Drawing], title: str) -> dict[str, Any]:
    """Profiles in rows of two, as one specification: Altair takes seconds to read it back."""
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
    """A specification whose marks refer to the tables of one of many drawings."""
    if isinstance(part, dict):
        if set(part) == {"name"}:
            return {"name": f"{part['name']}-{number}"}
        return {key: _renamed(value, number) for key, value in part.items()}
    return [_renamed(value, number) for value in part] if isinstance(part, list) else part


def axis_top(frames: Sequence[pd.DataFrame]) -> int:
    """Where the axis of all these profiles may end: a round number above the highest band."""
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
