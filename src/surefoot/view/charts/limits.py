"""The value that each limit is held against, for every arm, beside the limit as a line."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result
from surefoot.algorithms.outputs import AgainstLimit
from surefoot.view.charts.drawing import BLUE, GREY, ORANGE, Drawing, layered, table, telling

MOST_ROWS = 40  # arms: more are drawn in rows without their names
MARGIN = 0.1  # of the axis on each side
STATES = ["shown to qualify", "open", "shown not to qualify"]
COLOURS, MARKS = [BLUE, ORANGE, GREY], ["circle", "diamond", "cross"]


def limits_frame(result: Result) -> pd.DataFrame:
    """Return one row per limit and arm: what the limit is held against, with its interval.

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
        return [STATES[1]] * result.problem.n_arms
    found = np.where(known.shown, STATES[0], np.where(known.unfit, STATES[2], STATES[1]))
    return [str(state) for state in found]


def limit_chart(result: Result, which: int = 0) -> alt.LayerChart:
    """Draw what one limit is held against, arm by arm, with simultaneous intervals and the limit.

    Args:
        which: of the limits, in the order in which they were given.
    """
    return limit_drawing(result, which).chart()


def limit_drawings(result: Result) -> list[Drawing]:
    """Return the charts of all limits before they are drawn."""
    return [limit_drawing(result, which) for which in range(len(result.settings.limits))]


def limit_drawing(result: Result, which: int) -> Drawing:
    """`limit_chart` before it is drawn."""
    held, n = result.against_limits[which], result.problem.n_arms
    frame = limits_frame(result).iloc[which * n : (which + 1) * n]
    frame = frame.assign(label=telling([(name,) for name in frame["arm"]]))
    ends, frame = _within(held, frame)
    limit = held.limit
    line = pd.DataFrame({"limit": [limit.value], "name": [limit.words]})
    spread = f"{100 * (1 - result.settings.delta):g} %"
    return Drawing(
        _template,
        (n <= MOST_ROWS, f"{_measured(held)}{limit.output}"),
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


def _within(held: AgainstLimit, frame: pd.DataFrame) -> tuple[list[float], pd.DataFrame]:
    """Return the ends of the axis, and the rows with infinite ends of intervals there."""
    drawn = np.append(frame[["value", "low", "high"]].to_numpy(np.float64), held.limit.value)
    finite = drawn[np.isfinite(drawn)]
    room = MARGIN * (float(np.ptp(finite)) or abs(held.limit.value) or 1.0)
    ends = [float(finite.min()) - room, float(finite.max()) + room]
    reached = frame[["low", "high"]].clip(*ends)
    return ends, frame.assign(low=reached["low"], high=reached["high"])


def _template(named: bool, axis: str) -> alt.LayerChart:
    labels = alt.Axis(labels=named, ticks=named)
    arm = alt.Y("label:N", sort=["$labels"], title=None, axis=labels)
    room = alt.Scale(zero=False, nice=False, domain=["$ends"])
    legend = alt.Legend(title=None, orient="bottom")
    colour = alt.Color("state:N", scale=alt.Scale(domain=STATES, range=COLOURS), legend=legend)
    shape = alt.Shape("state:N", scale=alt.Scale(domain=STATES, range=MARKS), legend=legend)
    base = table("arms").encode(y=arm, color=colour)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=axis, scale=room), x2="high:Q"
    )
    tooltip = ["arm:N", *(_number(name) for name in ("value", "low", "high")), "state:N"]
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=axis, scale=room), shape=shape, tooltip=tooltip
    )
    line = table("limit").mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=GREY)
    line = line.encode(x=alt.X("limit:Q", title=axis, scale=room), tooltip=["name:N"])
    return layered(line, bars, points, height=alt.Step(20 if named else 4))


def _number(field: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", format=".4g")
