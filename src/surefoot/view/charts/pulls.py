"""The pulls of a run: where they went, how fast they come, and how many had to be expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result
from surefoot.view.charts.drawing import (
    BLUE,
    GREY,
    ORANGE,
    Drawing,
    layered,
    measured,
    number_shown,
    require_columns,
    short,
    state_marks,
    table,
    telling,
    thinned,
)

if TYPE_CHECKING:
    from surefoot.design.hardness import Complexity


OTHERS = "all other pairs"


def allocation_frame(result: Result, pairs: int = 25) -> pd.DataFrame:
    """Return one row a pair and phase with pulls: the pairs pulled most first, and all others as
    one.

    Columns `phase`, `pair` (arm and perturbation, the distinctive part first), `label` (the same
    for an axis), `pulls`, `share` (of the phase).
    """
    columns = ["phase", "pair", "label", "pulls", "share"]
    if not result.history:
        return pd.DataFrame(columns=columns)
    counts = np.array([record.counts for record in result.history])
    totals, sizes = counts.sum(axis=0), counts.sum(axis=1)
    most = [int(pair) for pair in np.argsort(-totals, kind="stable")[:pairs] if totals[pair]]
    names = [_names(result, pair) for pair in most]
    lines = [
        (name, label, counts[:, pair])
        for name, label, pair in zip(telling(names), short(names), most, strict=True)
    ]
    lines.append((OTHERS, OTHERS, sizes - counts[:, most].sum(axis=1)))
    return pd.DataFrame(
        [
            (record.phase, name, label, int(pulls[t]), float(pulls[t] / sizes[t]))
            for name, label, pulls in lines
            for t, record in enumerate(result.history)
            if pulls[t]
        ],
        columns=columns,
    )


def allocation_drawing(
    result: Result, pairs: int = 25, title: str = "Where the pulls went"
) -> Drawing:
    """Draw the share of each phase's pulls that each pair had; the further from the background,
    the more.
    """
    frame = allocation_frame(result, pairs)
    named = set(frame["pair"])
    shown, in_all = len(named - {OTHERS}), result.problem.n_pairs
    if not shown:
        subtitle = "no phase is complete yet"
    elif shown == in_all:
        subtitle = f"all {shown} pairs"
    elif OTHERS in named:
        subtitle = f"the {shown} pairs pulled most, of {in_all}"
    else:
        subtitle = f"the {shown} pairs that were pulled, of {in_all}"
    return Drawing(_allocation_template, (), {"allocation": frame}, title, subtitle)


def _allocation_template() -> alt.LayerChart:
    shade = alt.Color(
        "share:Q",
        title="share of the phase's pulls",
        scale=alt.Scale(domainMin=0),
        legend=alt.Legend(format=".0%", orient="bottom", gradientLength=200, tickCount=3),
    )
    tooltip: list[Any] = ["phase:O", "pair:N", "pulls:Q", alt.Tooltip("share:Q", format=".1%")]
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=6)
    cells = table("allocation").encode(
        x=alt.X("phase:O", title="phase", axis=axis),
        y=alt.Y("label:N", sort=None, title=None),
        color=shade,
        tooltip=tooltip,
    )
    return layered(cells.mark_rect(), height=alt.Step(17))


def _names(result: Result, pair: int) -> tuple[str, str]:
    problem = result.problem
    return problem.arm_names[int(problem.arm_of_pair[pair])], problem.perturbation_names[pair]


KINDS = {
    "this run": (ORANGE, "diamond"),
    "no algorithm needs fewer": (BLUE, "triangle-right"),
    "predicted": (GREY, "circle"),
}
RUN, LEAST, PREDICTED = KINDS


def bounds_frame(result: Result, hardness: Complexity) -> pd.DataFrame:
    """Return one row a number of pulls: columns `what`, `pulls`, `kind`."""
    delta = result.settings.delta
    rows = [
        (f"this run ({result.algorithm})", float(result.samples), RUN),
        ("lower bound", hardness.lower_bound(delta), LEAST),
        ("oracle that knows θ", hardness.oracle_samples(delta), PREDICTED),
        ("Robust RAGE, at most", hardness.rage_bound(delta), PREDICTED),
        ("Robust Static, at most", hardness.static_bound(delta), PREDICTED),
    ]
    return pd.DataFrame(rows, columns=["what", "pulls", "kind"])


def bounds_drawing(
    result: Result, hardness: Complexity, title: str = "Pulls against the bounds"
) -> Drawing:
    """Draw the pulls of this run against bounds for an instance with its estimated parameter.

    Args:
        hardness: `surefoot.complexity` at the run's estimate (or at the truth, if that is known).
    """
    subtitle = "bounds are for the estimated parameter, at the same confidence"
    return Drawing(
        _bounds_template, (), {"bounds": bounds_frame(result, hardness)}, title, subtitle
    )


def _bounds_template() -> alt.LayerChart:
    base = table("bounds").encode(
        x=alt.X(
            "pulls:Q",
            title="pulls (log scale)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", tickCount=5),
        ),
        y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(grid=True)),
    )
    colour, shape = state_marks("kind", KINDS, named=False)
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=colour,
        shape=shape,
        tooltip=["what:N", alt.Tooltip("pulls:Q", format=",.0f")],
    )
    numbers = base.mark_text(dy=-12).encode(text=alt.Text("pulls:Q", format=",.0f"))
    return layered(points, numbers, height=alt.Step(36))


def pace_drawing(frame: pd.DataFrame, title: str = "Pulls per minute") -> Drawing:
    """Draw the rewards in each minute.

    Args:
        frame: columns `minute` (seconds since 1970) and `pulls`, as `StudyReader.pulls_per_minute`
            gives it.
    """
    require_columns(frame, "minute", "pulls")
    begin = 1000 * frame["minute"].astype("int64")
    timed = pd.DataFrame(
        {"minute": begin, "pulls": frame["pulls"], "end": begin + 60_000, "none": 0}
    )
    return Drawing(
        _pace_template,
        (),
        {"pace": timed},
        title,
        "rewards in each of the last minutes that had any",
    )


def _pace_template() -> alt.LayerChart:
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


def residuals_frame(result: Result) -> pd.DataFrame:
    """Return one row a pulled pair: `arm`, `perturbation`, `pulls`, `fit`, `average`, `residual`
    (in standard errors).
    """
    problem = result.problem
    pulled = np.flatnonzero((result.counts > 0) & np.isfinite(result.pair_errors))
    fit, average = result.pair_means[pulled], result.pair_averages[pulled]
    return pd.DataFrame(
        {
            "arm": [problem.arm_names[a] for a in problem.arm_of_pair[pulled]],
            "perturbation": [problem.perturbation_names[pair] for pair in pulled],
            "pulls": result.counts[pulled],
            "fit": fit,
            "average": average,
            "residual": (average - fit) / result.pair_errors[pulled],
        }
    )


def residuals_drawing(result: Result, title: str = "Does the model fit?") -> Drawing:
    """Draw the residuals of the pairs; under the model nearly all lie between −3 and 3, without a
    pattern. Of more than 1 000 pairs, those furthest from the model and a part of the others.
    """
    frame, subtitle = residuals_frame(result), result.checks
    furthest = frame["residual"].abs().sort_values(ascending=False, kind="stable").index
    shown = thinned(frame.loc[furthest]).sort_index()
    if len(shown) < len(frame):
        subtitle += (
            f"; {len(shown):,} of {len(frame):,} pairs are drawn, the furthest off among them"
        )
    tables = {
        "residuals": shown,
        "band": pd.DataFrame({"low": [-3], "zero": [0], "high": [3]}),
    }
    return Drawing(_residuals_template, (measured(result),), tables, title, subtitle)


def _residuals_template(measured: str) -> alt.LayerChart:
    axis = "average − fit (standard errors)"
    band = (
        table("band")
        .mark_rect(color=GREY, opacity=0.13)
        .encode(y=alt.Y("low:Q", title=axis), y2="high:Q")
    )
    zero = table("band").mark_rule(strokeWidth=1).encode(y="zero:Q")
    numbers = [number_shown(name) for name in ("fit", "average", "residual")]
    legend = alt.Legend(orient="bottom", tickCount=3, format="d")
    points = table("residuals").mark_point(filled=True, color=BLUE, opacity=0.75)
    points = points.encode(
        x=alt.X("fit:Q", title=f"fitted mean {measured}", scale=alt.Scale(zero=False)),
        y=alt.Y("residual:Q", title=axis),
        size=alt.Size("pulls:Q", title="pulls", scale=alt.Scale(range=[25, 300]), legend=legend),
        tooltip=["arm:N", "perturbation:N", "pulls:Q", *numbers],
    )
    return layered(band, zero, points, height=240)
