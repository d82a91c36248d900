"""Evidence as charts: the statistic that decides, look by look, and the value held to a limit."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result, StopReason
from surefoot.algorithms.verdict import AgainstLimit
from surefoot.view.charts.drawing import (
    BLUE,
    GREY,
    MOST_NAMED,
    ORANGE,
    SERIES,
    SHAPES,
    Drawing,
    interval_scale,
    layered,
    number_shown,
    state_marks,
    table,
    telling,
    within_axis,
)


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


def evidence_drawing(result: Result, rivals: int = 6, title: str = "Why it stopped") -> Drawing:
    """Draw the evidence against the closest rivals over the looks: an arm is eliminated where its
    line reaches the boundary.
    """
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
        _evidence_template,
        (_unit(result),),
        tables,
        title,
        subtitle,
        {"$arms": list(dict.fromkeys(frame["arm"]))},
    )


def _last_looks(alive: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return (n_arms,) the look after which an arm is never possible again, or the last one."""
    n_looks = len(alive)
    survived = np.where(alive.any(axis=0), n_looks - 1 - np.argmax(alive[::-1], axis=0), -1)
    return np.asarray(np.minimum(survived + 1, n_looks - 1))


def _closest(
    result: Result, evidence: np.ndarray[Any, Any], last: np.ndarray[Any, Any]
) -> list[int]:
    """Arms other than the chosen one: the runner-up first, which has the second-best estimate; then
    those that were eliminated last, or not at all, and with least evidence. Arms that are shown not
    to qualify are no rivals: limits have decided about them.
    """
    at_last = evidence[last, np.arange(len(last))]
    order = np.lexsort((at_last, -last))
    known = result.qualifying
    rivals = order[order != result.arm]
    rivals = rivals if known is None else rivals[~known.unfit[rivals]]
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


def _evidence_template(unit: str) -> alt.LayerChart:
    return layered(*_boundary(unit), *_lines(unit), height=300)


def _boundary(unit: str) -> list[Any]:
    base = table("boundary").encode(x=_pulls_axis(), y=_evidence_axis("boundary", unit))
    line = base.mark_line(color=GREY, strokeDash=[5, 4], strokeWidth=1.5)
    looks = base.mark_tick(color=GREY, orient="horizontal", thickness=2, width=8)
    looks = looks.encode(tooltip=["pulls:Q", number_shown("boundary")])
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
    tooltip = ["arm:N", "phase:Q", "pulls:Q", number_shown("evidence")]
    tooltip += [number_shown("boundary"), "eliminated:N"]
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


STATES = {
    "shown to qualify": (BLUE, "circle"),
    "open": (ORANGE, "diamond"),
    "shown not to qualify": (GREY, "cross"),
}
SHOWN, OPEN, UNFIT = STATES


def limits_frame(result: Result) -> pd.DataFrame:
    """Return one row per limit and arm: the arm's value of the output, with its interval.

    Columns `output`, `limit`, `arm`, `value`, `low`, `high` and `state`, which says whether the arm
    is shown to keep all limits, or to miss one.
    """
    states = _states(result)
    rows = [
        {
            "output": held.limit.output,
            "limit": held.limit.value,
            "arm": name,
            "value": held.values[arm],
            "low": held.lower[arm],
            "high": held.upper[arm],
            "state": states[arm],
        }
        for held in result.against_limits
        for arm, name in enumerate(result.problem.arm_names)
    ]
    columns = ["output", "limit", "arm", "value", "low", "high", "state"]
    return pd.DataFrame(rows, columns=columns)


def _states(result: Result) -> list[str]:
    known = result.qualifying
    if known is None:
        return [OPEN] * result.problem.n_arms
    found = np.where(known.shown, SHOWN, np.where(known.unfit, UNFIT, OPEN))
    return [str(state) for state in found]


def limit_drawings(result: Result) -> list[Drawing]:
    """Return the charts of all limits before they are drawn."""
    return [limit_drawing(result, which) for which in range(len(result.settings.limits))]


def limit_drawing(result: Result, which: int = 0) -> Drawing:
    """Draw each arm's value of one limited output, with simultaneous intervals and the limit.

    Args:
        which: of the limits, in the order in which they were given.
    """
    held, n = result.against_limits[which], result.problem.n_arms
    frame = limits_frame(result).iloc[which * n : (which + 1) * n]
    frame = frame.assign(label=telling([(name,) for name in frame["arm"]]))
    ends, frame = within_axis(frame, held.limit.value)
    limit = held.limit
    line = pd.DataFrame({"limit": [limit.value], "name": [limit.words]})
    spread = f"{100 * (1 - result.settings.delta):g} %"
    return Drawing(
        _limit_template,
        (n <= MOST_NAMED, f"{_measured(held)}{limit.output}"),
        {"arms": frame.drop(columns="limit"), "limit": line},
        f"Which arms keep {limit.words}",
        f"estimate and simultaneous {spread} interval; what decides is sharper, and asks for all "
        "limits",
        {"$labels": frame["label"].tolist(), "$ends": ends},
    )


def _measured(held: AgainstLimit) -> str:
    words = held.limit.measure.words
    if words != "worst case":
        return f"{words} of "
    return f"{'largest' if held.limit.sign < 0 else 'smallest'} mean of "


def _limit_template(named: bool, axis: str) -> alt.LayerChart:
    labels = alt.Axis(labels=named, ticks=named)
    arm = alt.Y("label:N", sort=["$labels"], title=None, axis=labels)
    room = interval_scale()
    colour, shape = state_marks("state", STATES)
    base = table("arms").encode(y=arm, color=colour)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=axis, scale=room), x2="high:Q"
    )
    tooltip = ["arm:N", *(number_shown(name) for name in ("value", "low", "high")), "state:N"]
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=axis, scale=room), shape=shape, tooltip=tooltip
    )
    line = table("limit").mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=GREY)
    line = line.encode(x=alt.X("limit:Q", title=axis, scale=room), tooltip=["name:N"])
    return layered(line, bars, points, height=alt.Step(20 if named else 4))
