"""How many samples each algorithm took: means with error bars on a logarithmic axis."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import altair as alt

from surefoot.errors import InputError
from surefoot.view.charts.drawing import SHAPES, inline, require_columns, styled

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
    """Mean samples with error bars, one group of marks for each value of `x`, joined by thin lines.

    Args:
        frame: columns `algorithm`, `policy` ("paper", "valid", or "bound" for a number that no
            algorithm ran for), `mean`, `low`, `high` (the ends of the error bar; equal to the mean
            for none) and the column named by `x`. Rows come in the order of the legend.
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
    """Each series takes the next colour of its policy's family."""
    policy = dict(zip(frame["series"], frame["policy"], strict=True))
    colours = {family: cycle(shades) for family, shades in FAMILIES.items()}
    return alt.Scale(domain=series, range=[next(colours[policy[s]]) for s in series])


def _shapes(frame: pd.DataFrame, series: list[str]) -> alt.Scale:
    """An algorithm keeps its shape in both families."""
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
