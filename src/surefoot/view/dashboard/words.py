"""What a page says of a study: every number as text, by the name of the place it stands in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from surefoot.study.file.reader import Status
from surefoot.study.file.storage import Running
from surefoot.system.progress import duration, share_done
from surefoot.view.charts import arms_frame
from surefoot.view.charts.pulls import pace_drawing
from surefoot.view.dashboard.watch import FileWatch, Moment
from surefoot.view.report.facts import arm_rows, certificate, number
from surefoot.view.report.page import configurations, drawings

LONGEST = 3  # pulls that are named
HINTS = {
    "running": "",
    "interrupted": "It was interrupted, and nothing is lost: run the study again to go on.",
    "waiting": "No reward has come yet. This page shows more as soon as one does.",
    "paused": "",
    "finished": "",
    "missing": "When the file comes back, this page goes on by itself.",
    "broken": "",
}


def fields(snapshot: Moment) -> dict[str, Any]:
    """Return the texts of a page that change while a study runs; `done` is a share, `version` tells
    when to redraw.
    """
    said: dict[str, Any] = {
        "state": snapshot.state,
        "name": snapshot.name,
        "version": snapshot.version,
    }
    said |= {"badge": snapshot.state, "look": snapshot.state}
    said |= {"told": "–", "left": "–", "seen": snapshot.status is not None}
    said |= {
        "hint": HINTS[snapshot.state],
        "message": snapshot.trouble or "",
        "sentence": "",
        "mind": "",
        "beside": "",
        "longest": "",
        "certified": False,
        "done": None,
    }
    return said if snapshot.status is None else said | _numbers(snapshot)


def _numbers(snapshot: Moment) -> dict[str, Any]:
    status = snapshot.status
    assert status is not None
    finished = snapshot.state == "finished"
    proved = "certified" if status.certified else "not certified"
    left = None if status.state == "finished" else status.expected_left
    paused = status.message if status.state == "paused" else None
    return {
        "badge": f"{snapshot.state}, {proved}" if finished else snapshot.state,
        "look": f"{snapshot.state} {proved}" if finished else snapshot.state,
        "message": paused or snapshot.trouble or "",
        "sentence": status.sentence or "There is no answer before the first phase is complete.",
        "mind": "; ".join(status.changes) or status.near_tie or "",
        "beside": "\n".join(status.beside),
        "certified": status.certified,
        "leader": status.leader or "–",
        "survivors": f"{number(status.survivors)} of {number(snapshot.n_arms)}",
        "told": number(status.told),
        "phase": number(status.phase),
        "phase_progress": f"{number(status.phase_told)} of {number(status.phase_pulls)} pulls",
        "rate": number(status.pulls_per_minute, 3) if snapshot.state == "running" else "–",
        "left": _left(status, left),
        "time_left": _time_left(snapshot, left),
        "failed": number(status.failed),
        "lost": number(status.lost),
        "writer": status.writer or "nobody",
        "running": number(len(status.running)),
        "longest": _longest(status.running),
        "done": _share(status.told, left, status.state),
    }


def _left(status: Status, left: float | None) -> str:
    if status.state == "finished":
        return "none"
    if left is not None:
        return number(round(left), 3)
    return "not forecast" if status.quiet else "too early to say"


def _time_left(snapshot: Moment, left: float | None) -> str:
    rate = snapshot.status.pulls_per_minute if snapshot.status else None
    if snapshot.state != "running" or not rate or left is None:
        return ""
    return f"about {duration(60 * left / rate)} at this pace"


def _longest(running: Sequence[Running]) -> str:
    """Return the pulls that began first, since when and where: a hung one stands out."""
    named = "; ".join(
        f"pull {now.pull} since {_clock(now.since)} on {now.worker or 'a worker that is not known'}"
        for now in running[:LONGEST]
    )
    return f"Running longest: {named}." if named else ""


def _clock(seconds: float) -> str:
    """Return a time of day; a damaged file may hold one that no clock ever shows."""
    try:
        return time.strftime("%d %b %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "a time that is not known"


def _share(told: int, left: float | None, state: str) -> float | None:
    if state == "finished":
        return 1.0
    return None if left is None else share_done(told, left)


def details(watch: FileWatch, snapshot: Moment) -> dict[str, Any]:
    """Return the drawings and lists below the numbers."""
    failures, pace = watch.failures(), watch.pace()
    charts = drawings(snapshot.result) if snapshot.result else {}
    if pace is not None and not pace.empty:
        charts["pace"] = pace_drawing(pace)
    return {
        "version": snapshot.version,
        "configs": configurations(),
        "charts": {name: drawing.spec() for name, drawing in charts.items()},
        "arms": [] if snapshot.result is None else arm_rows(arms_frame(snapshot.result)),
        "certificate": []
        if snapshot.result is None
        else [asdict(fact) for fact in certificate(snapshot.result)],
        "failures": [] if failures is None else failures.astype(object).to_dict("records"),
    }
