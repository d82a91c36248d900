"""How samples grow with the size of a problem: lines on logarithmic axes, beside known bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import altair as alt

from surefoot.view.charts.drawing import GREY, SERIES, SHAPES, inline, require_columns, styled

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("label", "mean", "low", "high", "bound")
DASHED = [5, 4]
SOLID = [1, 0]


def growth_chart(
    frame: pd.DataFrame,
    x: str,
    panel: str,
    title: str = "Samples against size",
    subtitle: str = "mean ± standard error",
) -> alt.FacetChart:
    """Mean samples with error bars against a size, one line per label, one panel per group.

    Args:
        frame: columns `label`, `mean`, `low`, `high` (the ends of the error bar), `bound` (whether
            the row is a known bound, which is drawn grey and dashed) and those named by `x` and
            `panel`. Rows come in the order of the legend and of the panels.
        x: the column of sizes, such as the number of arms.
        panel: the column of the panels.
    """
    require_columns(frame, *COLUMNS, x, panel)
    named = frame[[*COLUMNS]].assign(size=frame[x], panel=frame[panel])
    labels = list(dict.fromkeys(named["label"]))
    bounds = set(named.loc[named["bound"], "label"])
    base = alt.Chart().encode(
        x=alt.X(
            "size:Q",
            title=f"{x} (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=12),
            axis=alt.Axis(values=sorted(map(int, named["size"].unique())), format="d", grid=True),
        ),
        color=alt.Color("label:N", sort=labels, title=None, scale=_colours(labels, bounds)),
    )
    lines = base.mark_line(strokeWidth=2).encode(
        y=_samples("mean"),
        strokeDash=alt.StrokeDash(
            "label:N", sort=labels, title=None, scale=_dashes(labels, bounds)
        ),
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(y=_samples("low"), y2="high:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=_samples("mean"),
        shape=alt.Shape("label:N", sort=labels, title=None, scale=_shapes(labels)),
        tooltip=["label:N", "size:Q", alt.Tooltip("mean:Q", format=",.0f")],
    )
    panels = list(dict.fromkeys(named["panel"]))
    drawn = alt.layer(lines, bars, points).properties(width=230, height=300)
    faceted = drawn.facet(
        column=alt.Column("panel:N", sort=panels, title=None), data=inline(named)
    ).properties(title=alt.Title(title, subtitle=subtitle))
    return cast(alt.FacetChart, styled(faceted))


def _samples(field: str) -> alt.Y:
    return alt.Y(
        f"{field}:Q",
        title="samples (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(format="~s", grid=True, tickCount=5),
    )


def _colours(labels: list[str], bounds: set[str]) -> alt.Scale:
    """Bounds are grey; every other line takes the next colour."""
    colours = iter(SERIES)
    return alt.Scale(
        domain=labels, range=[GREY if label in bounds else next(colours) for label in labels]
    )


def _dashes(labels: list[str], bounds: set[str]) -> alt.Scale:
    return alt.Scale(
        domain=labels, range=[DASHED if label in bounds else SOLID for label in labels]
    )


def _shapes(labels: list[str]) -> alt.Scale:
    return alt.Scale(domain=labels, range=[SHAPES[i % len(SHAPES)] for i in range(len(labels))])
