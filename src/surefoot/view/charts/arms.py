"""The robust value of each arm with simultaneous intervals, the worst perturbation marked."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from surefoot.algorithms import Result, StopReason
from surefoot.view.charts.drawing import (
    BLUE,
    GREY,
    MOST_NAMED,
    ORANGE,
    RED,
    Drawing,
    interval_scale,
    layered,
    measured,
    number_shown,
    short,
    state_marks,
    table,
    thinned,
    within_axis,
)

MOST_LABELS = 20
LONGEST_SAID = 22  # characters of a perturbation at its mark
STATES = {
    "leader": (ORANGE, "diamond"),
    "still possible": (BLUE, "circle"),
    "eliminated": (GREY, "cross"),
    "does not qualify": (RED, "triangle-down"),
}
LEADER, POSSIBLE, ELIMINATED, UNFIT = STATES


def arms_frame(result: Result) -> pd.DataFrame:
    """Return one row per arm, the best first, in the unit in which pulls are measured."""
    problem = result.problem
    names, worst = problem.arm_names, result.worst_pairs.tolist()
    kinds = np.where(np.isin(np.arange(problem.n_arms), result.candidates), POSSIBLE, ELIMINATED)
    if result.qualifying is not None:
        kinds = np.where(result.qualifying.unfit, UNFIT, kinds)
    if (result.samples or result.certified) and result.reason is not StopReason.NONE_QUALIFIES:
        kinds[result.arm] = LEADER
    frame = pd.DataFrame(
        {
            "arm": names,
            "value": result.values,
            "low": result.lower,
            "high": result.upper,
            "kind": kinds,
            "worst": [problem.perturbation_names[pair] for pair in worst],
            "pulls": np.add.reduceat(result.counts, problem.offsets[:-1]),
        }
    )
    if not result.samples:
        frame[["value", "low", "high"]] = np.nan
    order = np.lexsort(
        (-result.sign * frame["value"].to_numpy(), np.arange(problem.n_arms) != result.arm)
    )
    return frame.iloc[order].reset_index(drop=True).assign(rank=np.arange(1, problem.n_arms + 1))


def arms_drawing(result: Result, title: str | None = None) -> Drawing:
    """Draw estimated robust values; bars hold for all arms and looks at once with probability
    1 − δ.

    Up to 40 arms have a row each, with the name of the worst perturbation at its mark and a tick
    for each of the others; more stand side by side in order of their value, of more than 1 000 the
    best and a part of the others.
    """
    frame, asked = arms_frame(result), result.settings
    words = asked.measure.words
    title = title or f"{words[0].upper()}{words[1:]} of each arm"
    worst = "highest" if result.minimize else "lowest"
    subtitle = (
        f"estimate and simultaneous {100 * (1 - result.settings.delta):g} % interval of "
        f"the {f'{worst} mean' if asked.worst_case else words} {measured(result)}"
    )
    if not np.isfinite(frame[["low", "high"]].to_numpy()).all() and result.samples:
        subtitle += "; a line to the edge has no end on that side"
    ticks = _pair_ticks(result) if len(frame) <= MOST_NAMED else None
    ends, frame = within_axis(frame, frame["value"] if ticks is None else ticks["value"])
    if len(frame) <= MOST_LABELS:
        frame["said"] = short([(name,) for name in frame["worst"]], LONGEST_SAID)
        frame["inwards"] = np.where(frame["value"] > sum(ends) / 2, "right", "left")
    axis = f"{measured(result)} under the arm's worst perturbation"
    if not asked.worst_case:
        axis = f"{measured(result)}: {words}"
    limited = bool(asked.limits)
    if ticks is None:
        shown = thinned(frame)
        if len(shown) < len(frame):
            subtitle += f"; {len(shown):,} of {len(frame):,} arms are drawn, all of the best"
        tables = {"arms": shown, "leader": frame.head(1)}
        return Drawing(_columns, (axis, limited), tables, title, subtitle, {"$ends": ends})
    labels = dict(zip(result.problem.arm_names, _labels(result), strict=True))
    frame = frame.assign(label=[labels[name] for name in frame["arm"]])
    tables = {"arms": frame, "pairs": ticks}
    named = {"$labels": frame["label"].tolist(), "$ends": ends}
    options = len(frame) <= MOST_LABELS, axis, limited
    return Drawing(_rows, options, tables, title, subtitle, named)


def _rows(labelled: bool, axis: str, limited: bool) -> alt.LayerChart:
    arm = alt.Y("label:N", sort=["$labels"], title=None)
    room = interval_scale()
    value = alt.X("value:Q", title=axis, scale=room)
    base = table("arms").encode(y=arm, color=_looks(limited)[0])
    low = alt.X("low:Q", title=axis, scale=room)
    bars = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    others = table("pairs").mark_tick(color=GREY, opacity=0.6, thickness=1, height=8)
    others = others.encode(
        y=arm, x=value, tooltip=["arm:N", "perturbation:N", number_shown("value")]
    )
    labels = [
        base.transform_filter(alt.datum.inwards == side)
        .mark_text(dy=-9, fontSize=10, align=side)
        .encode(x=value, text="said:N", color=alt.value(GREY))
        for side in ("left", "right")
    ]
    layers = [bars, others, _points(base.encode(x=value), limited), *(labels if labelled else [])]
    return layered(*layers, height=alt.Step(24 if labelled else 18))


def _columns(axis: str, limited: bool) -> alt.LayerChart:
    base = table("arms").encode(
        x=alt.X("rank:Q", title="arms, the best first", axis=alt.Axis(format="d", grid=False)),
        color=_looks(limited)[0],
    )
    room = interval_scale()
    bars = base.mark_rule(strokeWidth=1, opacity=0.55).encode(
        y=alt.Y("low:Q", title=axis, scale=room), y2="high:Q"
    )
    points = _points(base.encode(y=alt.Y("value:Q", scale=room)), limited, size=22)
    leader = table("leader").mark_text(align="left", dx=8, dy=-6, fontWeight="bold")
    return layered(bars, points, leader.encode(x="rank:Q", y="value:Q", text="arm:N"), height=300)


def _points(base: Any, limited: bool, size: int = 70) -> Any:
    tooltip = ["arm:N", number_shown("value"), number_shown("low"), number_shown("high")]
    tooltip += [
        alt.Tooltip("worst:N", title="worst perturbation"),
        "pulls:Q",
        alt.Tooltip("kind:N", title="state"),
    ]
    return base.mark_point(filled=True, size=size, opacity=1).encode(
        shape=_looks(limited)[1], tooltip=tooltip
    )


def _labels(result: Result) -> list[str]:
    """Return the names of the arms as an axis shows them."""
    return short([(name,) for name in result.problem.arm_names])


def _pair_ticks(result: Result) -> pd.DataFrame:
    """Return the pairs that are not the worst of their arm."""
    problem = result.problem
    other = (
        np.setdiff1d(np.arange(problem.n_pairs), result.worst_pairs)
        if result.samples
        else np.arange(0)
    )
    labels = _labels(result)
    return pd.DataFrame(
        {
            "arm": [problem.arm_names[a] for a in problem.arm_of_pair[other]],
            "label": [labels[a] for a in problem.arm_of_pair[other]],
            "perturbation": [problem.perturbation_names[pair] for pair in other],
            "value": result.pair_means[other],
        }
    )


def _looks(limited: bool) -> tuple[alt.Color, alt.Shape]:
    """Return the colours and shapes of arms; only with limits an arm may not qualify."""
    return state_marks(
        "kind", {name: look for name, look in STATES.items() if limited or name != UNFIT}
    )
