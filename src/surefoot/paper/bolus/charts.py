"""Charts of the dosing experiment: outcomes beside the paper's, and regret beside the truth."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from surefoot.paper.bolus.evaluation import CASES, METRIC_TITLES, METRICS
from surefoot.paper.bolus.methods import LABELS, METHODS, WORST_OF_ALL
from surefoot.paper.bolus.problem import DISCLAIMER
from surefoot.view.charts.frames import inline
from surefoot.view.charts.theme import BLUE, GREY, ORANGE, config


def outcomes_chart(summary: pd.DataFrame) -> Any:
    """Our means and the paper's, one panel per metric and case; bars are standard deviations over
    patients and runs.
    """
    rows = []
    for row in summary.to_dict("records"):
        for source, prefix in (("ours", ""), ("paper", "paper_")):
            for metric in METRICS:
                mean, deviation = row[f"{prefix}{metric}"], row[f"{prefix}{metric}_sd"]
                if mean is not None and mean == mean:
                    place = {"case": row["case"], "method": row["method"], "source": source}
                    bar = {
                        "metric": METRIC_TITLES[metric],
                        "mean": mean,
                        **_bar(metric, mean, deviation),
                    }
                    rows.append(place | bar)
    panels = [
        [_panel(pd.DataFrame(rows), case, METRIC_TITLES[metric]) for metric in METRICS]
        for case in CASES
    ]
    chart = alt.vconcat(*(alt.hconcat(*row) for row in panels))
    title = {
        "text": "Five-day outcomes of virtual patients, beside the paper's tables",
        "subtitle": ["mean and standard deviation over patients and runs", DISCLAIMER],
    }
    return chart.properties(title=title, config=alt.Config(**config()))


def _bar(metric: str, mean: float, deviation: float) -> dict[str, float]:
    """One standard deviation to either side, as far as the metric goes."""
    most = math.inf if metric == "risk" else 100.0
    return {"low": max(mean - deviation, 0.0), "high": min(mean + deviation, most)}


def _panel(rows: pd.DataFrame, case: str, metric: str) -> Any:
    chosen = rows[(rows["case"] == case) & (rows["metric"] == metric)]
    colour = alt.Color(
        "source:N",
        scale=alt.Scale(domain=["ours", "paper"], range=[BLUE, ORANGE]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    first = metric == METRIC_TITLES[METRICS[0]]
    y = alt.Y(
        "method:N",
        sort=[*LABELS, WORST_OF_ALL],
        title=None,
        axis=alt.Axis(labels=first, ticks=first, labelLimit=200),
    )
    base = alt.Chart(inline(chosen)).encode(
        y=y, yOffset=alt.YOffset("source:N", sort=["ours", "paper"]), color=colour
    )
    bars = base.mark_rule(opacity=0.35).encode(x=alt.X("low:Q", title=metric), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("mean:Q", title=metric),
        shape=alt.Shape(
            "source:N", scale=alt.Scale(domain=["ours", "paper"], range=["circle", "diamond"])
        ),
        tooltip=[
            "method:N",
            "source:N",
            alt.Tooltip("mean:Q", format=".2f"),
            alt.Tooltip("low:Q", format=".2f"),
        ],
    )
    return alt.layer(bars, points).properties(width=150, height=150, title=case if first else "")


def regret_chart(choices: pd.DataFrame) -> Any:
    """Each method's mean regret in worst-case reward, patient by patient."""
    means = choices.groupby(["patient", "method"], sort=False)["regret"].mean().reset_index()
    names = [method.label for method in METHODS if (means["method"] == method.label).any()]
    base = alt.Chart(inline(means)).encode(
        x=alt.X("patient:N", sort=None, title=None, axis=alt.Axis(labelAngle=-90)),
        y=alt.Y("method:N", sort=names, title=None, axis=alt.Axis(labelLimit=200)),
    )
    scale = alt.Scale(type="sqrt", range=["#fdf6ef", "#a63603"])
    cells = base.mark_rect(stroke="#ffffff").encode(
        color=alt.Color("regret:Q", scale=scale, legend=alt.Legend(title="regret")),
        tooltip=["patient:N", "method:N", alt.Tooltip("regret:Q", format=".2f")],
    )
    found = base.transform_filter("datum.regret == 0").mark_text(text="✓", color=GREY)
    title = {
        "text": "How far each choice is from the best worst case",
        "subtitle": "a tick: the best setting every time; the truth is found by exhaustive "
        "simulation",
    }
    chart = alt.layer(cells, found).properties(width=alt.Step(22), height=alt.Step(28), title=title)
    return chart.properties(config=alt.Config(**config()))
