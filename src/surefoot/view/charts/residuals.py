"""Does the linear model fit? Each pair's average reward against the fit, in standard errors."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result
from surefoot.view.charts.drawing import BLUE, GREY, Drawing, layered, measured, table


def residuals_frame(result: Result) -> pd.DataFrame:
    """One row a pulled pair: `arm`, `perturbation`, `pulls`, `fit`, `average`, `residual` (in
    standard errors).
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


def residuals_chart(result: Result, title: str = "Does the model fit?") -> alt.LayerChart:
    """Residuals of the pairs; under the model nearly all lie between −3 and 3, without a
    pattern.
    """
    return residuals_drawing(result, title).chart()


def residuals_drawing(result: Result, title: str = "Does the model fit?") -> Drawing:
    """`residuals_chart` before it is drawn."""
    tables = {
        "residuals": residuals_frame(result),
        "band": pd.DataFrame({"low": [-3], "zero": [0], "high": [3]}),
    }
    return Drawing(_template, (measured(result),), tables, title, result.checks)


def _template(measured: str) -> alt.LayerChart:
    axis = "average − fit (standard errors)"
    band = (
        table("band")
        .mark_rect(color=GREY, opacity=0.13)
        .encode(y=alt.Y("low:Q", title=axis), y2="high:Q")
    )
    zero = table("band").mark_rule(strokeWidth=1).encode(y="zero:Q")
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("fit", "average", "residual")]
    legend = alt.Legend(orient="bottom", tickCount=3, format="d")
    points = table("residuals").mark_point(filled=True, color=BLUE, opacity=0.75)
    points = points.encode(
        x=alt.X("fit:Q", title=f"fitted mean {measured}", scale=alt.Scale(zero=False)),
        y=alt.Y("residual:Q", title=axis),
        size=alt.Size("pulls:Q", title="pulls", scale=alt.Scale(range=[25, 300]), legend=legend),
        tooltip=["arm:N", "perturbation:N", "pulls:Q", *numbers],
    )
    return layered(band, zero, points, height=240)
