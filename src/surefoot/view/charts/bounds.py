"""The pulls of a run beside what had to be expected: the lower bound, and what the paper predicts
for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from surefoot.algorithms import Result
from surefoot.view.charts.drawing import Drawing, layered, table
from surefoot.view.charts.theme import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from surefoot.design.hardness import Complexity

KINDS = ["this run", "no algorithm needs fewer", "predicted"]


def bounds_frame(result: Result, hardness: Complexity) -> pd.DataFrame:
    """One row a number of pulls: columns `what`, `pulls`, `kind`."""
    delta = result.settings.delta
    rows = [
        (f"this run ({result.algorithm})", float(result.samples), KINDS[0]),
        ("lower bound", hardness.lower_bound(delta), KINDS[1]),
        ("oracle that knows θ", hardness.oracle_samples(delta), KINDS[2]),
        ("Robust RAGE, at most", hardness.rage_bound(delta), KINDS[2]),
        ("Robust Static, at most", hardness.static_bound(delta), KINDS[2]),
    ]
    return pd.DataFrame(rows, columns=["what", "pulls", "kind"])


def bounds_chart(
    result: Result, hardness: Complexity, title: str = "Pulls against the bounds"
) -> alt.LayerChart:
    """Pulls of this run against bounds for an instance with its estimated parameter.

    Args:
        hardness: `surefoot.complexity` at the run's estimate (or at the truth, if that is known).
    """
    return bounds_drawing(result, hardness, title).chart()


def bounds_drawing(
    result: Result, hardness: Complexity, title: str = "Pulls against the bounds"
) -> Drawing:
    """`bounds_chart` before it is drawn."""
    subtitle = "bounds are for the estimated parameter, at the same confidence"
    return Drawing(_template, (), {"bounds": bounds_frame(result, hardness)}, title, subtitle)


def _template() -> alt.LayerChart:
    base = table("bounds").encode(
        x=alt.X(
            "pulls:Q",
            title="pulls (log scale)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", tickCount=5),
        ),
        y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(grid=True)),
    )
    scale = alt.Scale(domain=KINDS, range=[ORANGE, BLUE, GREY])
    shapes = alt.Scale(domain=KINDS, range=["diamond", "triangle-right", "circle"])
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        color=alt.Color("kind:N", scale=scale, legend=None),
        shape=alt.Shape("kind:N", scale=shapes, legend=None),
        tooltip=["what:N", alt.Tooltip("pulls:Q", format=",.0f")],
    )
    numbers = base.mark_text(dy=-12).encode(text=alt.Text("pulls:Q", format=",.0f"))
    return layered(points, numbers, height=alt.Step(36))
