"""Where the pulls went: pairs against phases."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result
from surefoot.view.charts.drawing import Drawing, layered, table
from surefoot.view.charts.labels import telling

OTHERS = "all other pairs"


def allocation_frame(result: Result, pairs: int = 25) -> pd.DataFrame:
    """One row a pair and phase with pulls: the pairs pulled most first, and all others as one.

    Columns `phase`, `pair` (arm and perturbation, what tells pairs apart first), `pulls`, `share`
    (of the phase).
    """
    columns = ["phase", "pair", "pulls", "share"]
    if not result.history:
        return pd.DataFrame(columns=columns)
    counts = np.array([record.counts for record in result.history])
    totals, sizes = counts.sum(axis=0), counts.sum(axis=1)
    most = [int(pair) for pair in np.argsort(-totals, kind="stable")[:pairs] if totals[pair]]
    labels = telling([_names(result, pair) for pair in most])
    lines = [(label, counts[:, pair]) for label, pair in zip(labels, most, strict=True)]
    lines.append((OTHERS, sizes - counts[:, most].sum(axis=1)))
    return pd.DataFrame(
        [
            (record.phase, name, int(pulls[t]), float(pulls[t] / sizes[t]))
            for name, pulls in lines
            for t, record in enumerate(result.history)
            if pulls[t]
        ],
        columns=columns,
    )


def allocation_chart(
    result: Result, pairs: int = 25, title: str = "Where the pulls went"
) -> alt.LayerChart:
    """The share of each phase's pulls that each pair had; the further from the background, the
    more.
    """
    return allocation_drawing(result, pairs, title).chart()


def allocation_drawing(
    result: Result, pairs: int = 25, title: str = "Where the pulls went"
) -> Drawing:
    """`allocation_chart` before it is drawn."""
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
    return Drawing(_template, (), {"allocation": frame}, title, subtitle)


def _template() -> alt.LayerChart:
    shade = alt.Color(
        "share:Q",
        title="share of the phase's pulls",
        scale=alt.Scale(domainMin=0),
        legend=alt.Legend(format=".0%", orient="bottom", gradientLength=200),
    )
    tooltip: list[Any] = ["phase:O", "pair:N", "pulls:Q", alt.Tooltip("share:Q", format=".1%")]
    cells = table("allocation").encode(
        x=alt.X("phase:O", title="phase", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("pair:N", sort=None, title=None),
        color=shade,
        tooltip=tooltip,
    )
    return layered(cells.mark_rect(), height=alt.Step(17))


def _names(result: Result, pair: int) -> tuple[str, str]:
    problem = result.problem
    return problem.arm_names[int(problem.arm_of_pair[pair])], problem.perturbation_names[pair]
