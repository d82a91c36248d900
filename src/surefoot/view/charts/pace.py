"""How fast rewards come."""

from __future__ import annotations

import altair as alt
import pandas as pd

from surefoot.view.charts.drawing import Drawing, layered, table
from surefoot.view.charts.frames import require_columns
from surefoot.view.charts.theme import BLUE


def pace_chart(frame: pd.DataFrame, title: str = "Pulls per minute") -> alt.LayerChart:
    """Rewards in each minute.

    Args:
        frame: columns `minute` (seconds since 1970) and `pulls`, as `StudyReader.pulls_per_minute`
            gives it.
    """
    return pace_drawing(frame, title).chart()


def pace_drawing(frame: pd.DataFrame, title: str = "Pulls per minute") -> Drawing:
    """`pace_chart` before it is drawn."""
    require_columns(frame, "minute", "pulls")
    begin = 1000 * frame["minute"].astype("int64")
    timed = pd.DataFrame(
        {"minute": begin, "pulls": frame["pulls"], "end": begin + 60_000, "none": 0}
    )
    return Drawing(
        _template, (), {"pace": timed}, title, "rewards in each of the last minutes that had any"
    )


def _template() -> alt.LayerChart:
    bars = table("pace").mark_bar(color=BLUE)
    axis = alt.Axis(grid=False, tickCount=6, labelOverlap=True)
    bars = bars.encode(
        x=alt.X("minute:T", title="time of day", axis=axis),
        x2="end:T",
        y=alt.Y("pulls:Q", title="pulls per minute"),
        y2="none:Q",
        tooltip=[alt.Tooltip("minute:T", format="%H:%M"), "pulls:Q"],
    )
    return layered(bars, height=150)
