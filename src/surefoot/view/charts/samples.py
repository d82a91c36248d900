"""How many samples each algorithm took: means with error bars on a logarithmic axis."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, cast

import altair as alt

from surefoot.errors import InputError
from surefoot.view.charts.drawing import GREY, SERIES, SHAPES, inline, require_columns, styled

if TYPE_CHECKING:
    import pandas as pd

# Two families: what follows the paper's rules to the letter is warm, what is proved is cool, known
# bounds are grey.
FAMILIES = {
    "valid": ["#08519c", "#3182bd", "#159a9c", "#54278f", "#7c84d6", "#3f7f93", "#9b6bd3"],
    "paper": ["#a63603", "#e6750f", "#b8860b", "#cb181d", "#a5576a", "#8c5a2b", "#e0568a"],
    "bound": ["#4d4d4d", "#8a8a8a", "#6a6a6a"],
}
COLUMNS = ("algorithm", "policy", "mean", "low", "high")


def samples_chart(
    frame: pd.DataFrame,
    x: str,
    x_title: str | None = None,
    title: str = "Samples until the answer is certain",
) -> alt.LayerChart:
    """Draw mean samples with error bars, one group of marks for each value of `x`, joined by thin
    lines.

    Args:
        frame: columns `algorithm`, `policy` ("paper", "valid", or "bound" for a number that no
            algorithm ran for), `mean`, `low`, `high` (the ends of the error bar; equal to the mean
            without one) and the column named by `x`. Rows come in the order of the legend.
        x: the column of the groups, such as the dimension or the number of arms.
    """
    require_columns(frame, *COLUMNS, x)
    _refuse_unknown_policies(frame)
    named = frame[[*COLUMNS]].assign(
        group=frame[x], series=[_series(*row) for row in _names(frame)]
    )
    series = list(dict.fromkeys(named["series"]))
    base = alt.Chart(inline(named)).encode(
        x=alt.X("group:O", title=x_title or x, sort=None, axis=alt.Axis(labelAngle=0, grid=True)),
        xOffset=alt.XOffset("series:N", sort=series),
        color=alt.Color("series:N", sort=series, scale=_colours(named, series), legend=_legend()),
    )
    bars = base.mark_rule(strokeWidth=2).encode(y=_samples_axis("low"), y2="high:Q")
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        y=_samples_axis("mean"),
        shape=alt.Shape("series:N", sort=series, scale=_shapes(named, series), legend=_legend()),
        tooltip=[
            "series:N",
            alt.Tooltip("group:O", title=x_title or x),
            *_numbers("mean", "low", "high"),
        ],
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(y=_samples_axis("mean"))
    width = min(900, max(320, 16 * len(series) * named["group"].nunique() + 80))
    return styled(alt.layer(bars, points, lines).properties(width=width, height=320, title=title))


def _names(frame: pd.DataFrame) -> zip[tuple[str, str]]:
    return zip(frame["algorithm"].astype(str), frame["policy"].astype(str), strict=True)


def _series(algorithm: str, policy: str) -> str:
    return algorithm if policy == "bound" else f"{algorithm} · {policy}"


def _samples_axis(field: str) -> alt.Y:
    return alt.Y(
        f"{field}:Q",
        title="samples (log scale)",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~s"),
    )


def _numbers(*fields: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:Q", format=",.0f") for field in fields]


def _legend() -> alt.Legend:
    return alt.Legend(title="algorithm · policy", labelLimit=260, orient="bottom", columns=3)


def _colours(frame: pd.DataFrame, series: list[str]) -> alt.Scale:
    """Return a scale that gives each series the next colour of its policy's family."""
    policy = dict(zip(frame["series"], frame["policy"], strict=True))
    colours = {family: cycle(shades) for family, shades in FAMILIES.items()}
    return alt.Scale(domain=series, range=[next(colours[policy[s]]) for s in series])


def _shapes(frame: pd.DataFrame, series: list[str]) -> alt.Scale:
    """Return a scale that gives an algorithm one shape in both families."""
    algorithm = dict(zip(frame["series"], frame["algorithm"], strict=True))
    order = list(dict.fromkeys(algorithm.values()))
    return alt.Scale(
        domain=series, range=[SHAPES[order.index(algorithm[s]) % len(SHAPES)] for s in series]
    )


def _refuse_unknown_policies(frame: pd.DataFrame) -> None:
    unknown = sorted(set(frame["policy"]) - set(FAMILIES))
    if unknown:
        raise InputError(
            f"policy {unknown[0]!r} has no colours: use {', '.join(map(repr, FAMILIES))}"
        )


GROWTH_COLUMNS = ("label", "mean", "low", "high", "bound")
DASHED = [5, 4]
SOLID = [1, 0]


def growth_chart(
    frame: pd.DataFrame,
    x: str,
    panel: str,
    title: str = "Samples against size",
    subtitle: str = "mean ± standard error",
) -> alt.FacetChart:
    """Draw mean samples with error bars against a size, one line per label, one panel per group.

    Args:
        frame: columns `label`, `mean`, `low`, `high` (the ends of the error bar), `bound` (whether
            the row is a known bound, which is drawn grey and dashed) and those named by `x` and
            `panel`. Rows come in the order of the legend and of the panels.
        x: the column of sizes, such as the number of arms.
        panel: the column of the panels.
    """
    require_columns(frame, *GROWTH_COLUMNS, x, panel)
    named = frame[[*GROWTH_COLUMNS]].assign(size=frame[x], panel=frame[panel])
    labels = list(dict.fromkeys(named["label"]))
    bounds = set(named.loc[named["bound"], "label"])
    base = alt.Chart().encode(
        x=alt.X(
            "size:Q",
            title=f"{x} (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=12),
            axis=alt.Axis(values=sorted(map(int, named["size"].unique())), format="d", grid=True),
        ),
        color=alt.Color("label:N", sort=labels, title=None, scale=_line_colours(labels, bounds)),
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
        shape=alt.Shape("label:N", sort=labels, title=None, scale=_line_shapes(labels)),
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


def _line_colours(labels: list[str], bounds: set[str]) -> alt.Scale:
    """Return a scale that draws bounds grey and gives every other line the next colour."""
    colours = iter(SERIES)
    return alt.Scale(
        domain=labels, range=[GREY if label in bounds else next(colours) for label in labels]
    )


def _dashes(labels: list[str], bounds: set[str]) -> alt.Scale:
    return alt.Scale(
        domain=labels, range=[DASHED if label in bounds else SOLID for label in labels]
    )


def _line_shapes(labels: list[str]) -> alt.Scale:
    return alt.Scale(domain=labels, range=[SHAPES[i % len(SHAPES)] for i in range(len(labels))])
