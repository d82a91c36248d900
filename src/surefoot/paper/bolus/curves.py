"""Blood glucose over time against the target band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from surefoot.view.charts.frames import inline, require_columns
from surefoot.view.charts.theme import DASHES, GREEN, SERIES, WIDTH, styled

if TYPE_CHECKING:
    import pandas as pd


def glucose_curves(frame: pd.DataFrame, title: str = "Blood glucose") -> alt.LayerChart:
    """One line per curve, over the target band.

    Args:
        frame: columns `minute`, `bg` (mg/dL) and `curve` (its name). Up to eight curves are told
            apart by colour and dashes; more are drawn as one thin bundle with its median.
    """
    require_columns(frame, "minute", "bg", "curve")
    names = list(dict.fromkeys(frame["curve"].astype(str)))
    named = frame[["minute", "bg"]].assign(curve=frame["curve"].astype(str))
    lines = _bundle(named) if len(names) > len(SERIES) else [_named_lines(named, names)]
    return styled(alt.layer(_band(named), *lines).properties(width=WIDTH, height=300, title=title))


def _band(frame: pd.DataFrame) -> Any:
    from surefoot.paper.glucose.metrics import HIGH, LOW

    low, high = int(LOW), int(HIGH)
    top = max(float(frame["bg"].max(skipna=True)) if len(frame) else 0.0, 250.0)
    band = alt.InlineData(
        values=[{"low": low, "high": high, "label": f"target {low}–{high} mg/dL"}]
    )
    scale = alt.Scale(domain=[0, 50 * -(-top // 50)], nice=False)
    axis = alt.Axis(values=[0, 40, low, 100, 140, high, *range(220, int(top) + 50, 40)])
    area = alt.Chart(band).mark_rect(color=GREEN, opacity=0.16)
    area = area.encode(
        y=alt.Y("low:Q", title="blood glucose (mg/dL)", scale=scale, axis=axis), y2="high:Q"
    )
    label = alt.Chart(band).mark_text(align="right", dx=-4, dy=9, x="width", baseline="middle")
    return alt.layer(area, label.encode(y="high:Q", text="label:N"))


def _named_lines(frame: pd.DataFrame, names: list[str]) -> Any:
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=260, symbolSize=300)
    return _lines(frame, strokeWidth=2).encode(
        color=alt.Color(
            "curve:N", scale=alt.Scale(domain=names, range=SERIES[: len(names)]), legend=legend
        ),
        strokeDash=alt.StrokeDash(
            "curve:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)])
        ),
        tooltip=["curve:N", "minute:Q", alt.Tooltip("bg:Q", format=".0f", title="mg/dL")],
    )


def _bundle(frame: pd.DataFrame) -> list[Any]:
    count = frame["curve"].nunique()
    middle = (
        frame.groupby("minute", as_index=False)["bg"]
        .median()
        .assign(curve=f"median of {count} curves")
    )
    thin = _lines(frame, strokeWidth=1, opacity=max(0.08, min(0.5, 8 / count)), color=SERIES[0])
    return [
        thin.encode(detail="curve:N"),
        _lines(middle, strokeWidth=3, color=SERIES[1]).encode(tooltip="curve:N"),
    ]


def _lines(frame: pd.DataFrame, **mark: Any) -> Any:
    lines = alt.Chart(inline(frame)).mark_line(clip=True, **mark)
    return lines.encode(
        x=alt.X("minute:Q", title="time (minutes)", scale=alt.Scale(nice=False)), y=alt.Y("bg:Q")
    )
