"""Why a run stopped: the statistic that decides, look by look, against the boundary it has to
reach.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result, StopReason
from surefoot.view.charts.drawing import GREY, SERIES, SHAPES, Drawing, layered, table


def evidence_frame(result: Result, rivals: int = 6) -> pd.DataFrame:
    """Return one row per look and arm: the closest rivals of the chosen arm, the runner-up first,
    each up to the look at which it was eliminated.

    Columns `phase`, `pulls` (in all), `arm`, `evidence`, `boundary`, `eliminated` (at this look,
    for good). The numbers are those that the algorithm compared.
    """
    looks = [
        record
        for record in result.history
        if record.evidence is not None and record.boundary is not None
    ]
    if not looks:
        return pd.DataFrame(columns=["phase", "pulls", "arm", "evidence", "boundary", "eliminated"])
    alive = np.array([record.survivors for record in looks])
    evidence = np.array([record.evidence for record in looks])
    last = _last_looks(alive)
    shown = _closest(result, evidence, last)[:rivals]
    return pd.DataFrame(
        [
            {
                "phase": looks[t].phase,
                "pulls": looks[t].total,
                "arm": result.problem.arm_names[arm],
                "evidence": evidence[t, arm],
                "boundary": looks[t].boundary,
                "eliminated": bool(
                    t == last[arm] and (not alive[t, arm] or evidence[t, arm] >= looks[t].boundary)
                ),
            }
            for arm in shown
            for t in range(last[arm] + 1)
        ]
    )


def evidence_chart(
    result: Result, rivals: int = 6, title: str = "Why it stopped"
) -> alt.LayerChart:
    """Evidence against the closest rivals over the looks: an arm is eliminated where its line
    reaches the boundary.
    """
    return evidence_drawing(result, rivals, title).chart()


def evidence_drawing(result: Result, rivals: int = 6, title: str = "Why it stopped") -> Drawing:
    """`evidence_chart` before it is drawn."""
    frame = evidence_frame(result, rivals)
    boundary = _boundary_frame(result)
    tables = {"evidence": frame, "boundary": boundary, "end": boundary.tail(1)}
    words = result.settings.measure.words
    subtitle = f"evidence that an arm's {words} is beaten; it is eliminated (ring) at the boundary"
    if result.reason is StopReason.WITHIN_TOLERANCE:
        subtitle += "; the tolerance counts in favour of the arm that leads"
    if frame.empty:
        subtitle = "this run has not yet weighed evidence against a boundary"
    title = "How far it is" if result.reason is StopReason.RUNNING else title
    return Drawing(
        _template,
        (_unit(result),),
        tables,
        title,
        subtitle,
        {"$arms": list(dict.fromkeys(frame["arm"]))},
    )


def _last_looks(alive: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(n_arms,) the look after which an arm is never possible again, or the last one."""
    n_looks = len(alive)
    survived = np.where(alive.any(axis=0), n_looks - 1 - np.argmax(alive[::-1], axis=0), -1)
    return np.asarray(np.minimum(survived + 1, n_looks - 1))


def _closest(
    result: Result, evidence: np.ndarray[Any, Any], last: np.ndarray[Any, Any]
) -> list[int]:
    """Arms other than the chosen one: the runner-up first, which has the second-best estimate; then
    those that were eliminated last, or not at all, and with least evidence.
    """
    at_last = evidence[last, np.arange(len(last))]
    order = np.lexsort((at_last, -last))
    rivals = order[order != result.arm]
    if not len(rivals):
        return []
    values = np.nan_to_num(result.sign * result.values[rivals], nan=-np.inf)
    runner_up = int(rivals[values.argmax()])
    return [runner_up, *rivals[rivals != runner_up].tolist()]


def _boundary_frame(result: Result) -> pd.DataFrame:
    looks = [(r.total, r.boundary, "boundary") for r in result.history if r.boundary is not None]
    return pd.DataFrame(looks, columns=["pulls", "boundary", "name"])


def _unit(result: Result) -> str:
    """Return the unit of evidence: each arm's own clock if it has one."""
    bets = result.settings.noise.evidence == "wealth" and not result.settings.modelled
    return "logarithm of a wealth" if bets else "standard deviations"


def _template(unit: str) -> alt.LayerChart:
    return layered(*_boundary(unit), *_lines(unit), height=300)


def _boundary(unit: str) -> list[Any]:
    base = table("boundary").encode(x=_pulls_axis(), y=_evidence_axis("boundary", unit))
    line = base.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1.5)
    looks = base.mark_tick(color=GREY, orient="horizontal", thickness=2, width=8)
    looks = looks.encode(tooltip=["pulls:Q", alt.Tooltip("boundary:Q", format=".4g")])
    label = (
        table("end")  # beside the plot, where no mark can be
        .mark_text(align="left", baseline="middle", dx=16)
        .encode(x="pulls:Q", y="boundary:Q", text="name:N")
    )
    return [line, looks, label]


def _lines(unit: str) -> list[Any]:
    legend = alt.Legend(
        title="evidence against", orient="bottom", columns=2, labelLimit=260, symbolSize=120
    )
    base = table("evidence").encode(
        x=_pulls_axis(),
        y=_evidence_axis("evidence", unit),
        color=alt.Color("arm:N", scale=_scale(SERIES), legend=legend),
    )
    shape = alt.Shape("arm:N", scale=_scale(SHAPES), legend=legend)
    tooltip = ["arm:N", "phase:Q", "pulls:Q", alt.Tooltip("evidence:Q", format=".4g")]
    tooltip += [alt.Tooltip("boundary:Q", format=".4g"), "eliminated:N"]
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=shape, tooltip=tooltip)
    rings = base.mark_point(filled=False, size=190, strokeWidth=2)
    rings = rings.encode(opacity=alt.condition("datum.eliminated", alt.value(1), alt.value(0)))
    return [base.mark_line(strokeWidth=1.5), points, rings]


def _scale(values: list[Any]) -> alt.Scale:
    return alt.Scale(domain=["$arms"], range=values)


def _pulls_axis() -> alt.X:
    axis, scale = (
        alt.Axis(format="~s", grid=False, tickCount=6, labelOverlap="greedy", labelSeparation=6),
        alt.Scale(type="log", nice=False, padding=12),
    )
    return alt.X("pulls:Q", title="pulls in all (log scale)", scale=scale, axis=axis)


def _evidence_axis(field: str, unit: str) -> alt.Y:
    return alt.Y(f"{field}:Q", title=f"evidence ({unit})")
