"""A study as the dashboard shows it: its file watched, the texts of its pages, answers in time.

The file is opened read-only, and read at each request, even if it is changed or removed meanwhile.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.study import StudyReader
from surefoot.study.file.reader import Doing, Status
from surefoot.study.file.storage import Running
from surefoot.system.progress import Forward, duration, printable, share_done, spreadsheet_safe
from surefoot.view.charts import arms_frame
from surefoot.view.charts.pulls import bounds_drawing, pace_drawing
from surefoot.view.dashboard.guard import Lane, TooSlow
from surefoot.view.report.facts import (
    Fact,
    arm_rows,
    certificate,
    estimated_hardness,
    number,
    said_of_arms,
    settings_facts,
)
from surefoot.view.report.page import DESCRIPTIONS, configurations, drawings, safe_json

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.design.hardness import Complexity

FRESH = 0.25  # seconds: several readers within it share a snapshot

State = Literal[Doing, "missing", "broken"]


@dataclass(frozen=True, eq=False)
class _Moment:
    """A study at one moment, or why it cannot be seen.

    Attributes:
        state: as `Status.doing` says; "missing" and "broken" files have no status.
        trouble: why there is no status or no result.
        how_to_go_on: the command or call with which a user goes on with the study.
        result: after the last complete phase; None if unknown.
    """

    name: str
    state: State
    status: Status | None = None
    result: Result | None = None
    n_arms: int = 0
    trouble: str | None = None
    how_to_go_on: str = ""

    @property
    def version(self) -> str:
        """Changes whenever there is something new to draw."""
        if self.status is None:
            return self.state
        status = self.status
        minute = int((status.last_reward or 0) // 60)
        return f"{status.phase}.{status.state}.{status.failed}.{status.lost}.{minute}"


class FileWatch:
    """One study file. Every method may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._reader: StudyReader | None = None
        self._file: tuple[int, int] | None = None
        self._name = path.stem
        self._last: _Moment | None = None
        self._taken = 0.0
        self._hardness: dict[str, Complexity | None] = {}

    def snapshot(self) -> _Moment:
        """Return how the study is now."""
        with self._lock:
            if self._last is None or time.monotonic() - self._taken > FRESH:
                self._last = self._take()
                self._taken = time.monotonic()
            return self._last

    def failures(self) -> pd.DataFrame | None:
        """Return the pulls that failed, the latest first."""
        with self._lock:
            return self._reader.failures(limit=50) if self._reader else None

    def pace(self) -> pd.DataFrame | None:
        """Return the rewards in each of the last minutes."""
        with self._lock:
            return self._reader.pulls_per_minute() if self._reader else None

    def hardness(self) -> Complexity | None:
        """Return the hardness of a finished study, worked out once."""
        snapshot = self.snapshot()
        if snapshot.result is None or snapshot.state != "finished":
            return None
        key = f"{self._file}.{snapshot.version}"
        if key not in self._hardness:
            self._hardness = {key: estimated_hardness(snapshot.result)}
        return self._hardness[key]

    def settings(self, result: Result) -> list[Fact]:
        """Return the question of the study as facts."""
        with self._lock:
            return settings_facts(result, self._reader)

    def close(self) -> None:
        """Let go of the file, unless a reader still uses it."""
        if self._lock.acquire(timeout=1.0):
            self._forget()
            self._lock.release()

    def _take(self) -> _Moment:
        try:
            reader = self._opened()
            if reader is None:
                return _Moment(
                    self._name,
                    "missing",
                    trouble=f"There is no file {self.path.name} any more, or not yet.",
                )
            status = reader.status()
            return self._read(reader, status)
        except (InputError, sqlite3.Error, OSError) as error:
            self._forget()
            return _Moment(self._name, "broken", trouble=str(error))

    def _read(self, reader: StudyReader, status: Status) -> _Moment:
        before = self._last
        if before and before.status and before.result and _same_knowledge(before.status, status):
            known: tuple[Result | None, str | None] = before.result, None
        else:
            known = _recorded(reader)
        return _Moment(
            self._name,
            status.doing,
            status,
            known[0],
            reader.problem.n_arms,
            known[1],
            reader.how_to_go_on,
        )

    def _opened(self) -> StudyReader | None:
        """Return the reader of the file that is there now; a file in the place of another is opened
        anew.
        """
        try:
            found = self.path.stat()
        except OSError:
            self._forget()
            return None
        if self._reader is None or self._file != (found.st_dev, found.st_ino):
            self._forget()
            self._reader = StudyReader(self.path)
            self._file, self._name = (found.st_dev, found.st_ino), self._reader.name
        return self._reader

    def _forget(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader, self._last = None, None


def _recorded(reader: StudyReader) -> tuple[Result | None, str | None]:
    try:
        return reader.recorded, None
    except InputError as error:
        return None, str(error)


def _same_knowledge(one: Status, other: Status) -> bool:
    return (one.phase, one.state, one.sentence) == (other.phase, other.state, other.sentence)


LONGEST = 3  # pulls that are named
HINTS = {
    "running": "",
    "interrupted": "It was interrupted, and nothing is lost: go on with {}.",
    "waiting": "It waits for a reward. This page shows more as soon as one comes.",
    "paused": "",
    "finished": "",
    "missing": "When the file comes back, this page goes on by itself.",
    "broken": "",
}


def fields(snapshot: _Moment) -> dict[str, Any]:
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
        "hint": HINTS[snapshot.state].format(snapshot.how_to_go_on),
        "message": snapshot.trouble or "",
        "sentence": "",
        "mind": "",
        "beside": "",
        "longest": "",
        "certified": False,
        "done": None,
    }
    return said if snapshot.status is None else said | _numbers(snapshot)


def _numbers(snapshot: _Moment) -> dict[str, Any]:
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
        return number(max(round(left), 1), 3)
    return "not forecast" if status.quiet else "too early to say"


def _time_left(snapshot: _Moment, left: float | None) -> str:
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


def details(watch: FileWatch, snapshot: _Moment) -> dict[str, Any]:
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


CSV_BLOCK = 20_000
HARDNESS_LIMIT = 120.0  # seconds: it is worked out once
SLOW = (
    "Reading this file takes too long: it is very large, on a disk that does not answer, or made "
    "to hang."
)


class Readings:
    """One study; every method gives up when reading takes too long.

    Attributes:
        number: by which addresses know it.
    """

    def __init__(self, number: int, path: Path) -> None:
        self.number = number
        self._watch = FileWatch(path)
        self._forward = _Onward()
        self._reads, self._downloads = Lane(), Lane()
        self._sums = Lane(HARDNESS_LIMIT)

    @property
    def path(self) -> Path:
        return self._watch.path

    async def fields(self) -> dict[str, Any]:
        """Return the texts that change while it runs; a file that cannot be read in time says
        so.
        """
        try:
            return await self._reads.run(self._fields)
        except TooSlow:
            return fields(_Moment(self.path.stem, "broken", trouble=SLOW))

    async def summary(self) -> dict[str, Any]:
        """Return its entry in the list of studies."""
        return await self.fields() | {"number": self.number} | self._where()

    async def details(self) -> dict[str, Any]:
        """Return the drawings and lists below the numbers."""
        return await self._reads.run(lambda: details(self._watch, self._watch.snapshot()))

    async def page(self) -> dict[str, Any]:
        """Everything that its page is made of."""
        return await self._reads.run(self._page)

    async def bounds(self) -> dict[str, Any]:
        """Return the chart of a finished study's cost beside its bounds."""
        return await self._sums.run(self._bounds)

    def warm_up(self) -> None:
        """Read the file, and make its page once."""
        self._page()

    async def csv(self) -> AsyncIterator[str]:
        """Yield all pulls in blocks, by a reader of its own: a large download holds up no page."""
        blocks = _csv_blocks(self.path)
        while (block := await self._downloads.run(lambda: next(blocks, None))) is not None:
            yield block

    def close(self) -> None:
        self._watch.close()

    def _fields(self) -> dict[str, Any]:
        snapshot = self._watch.snapshot()
        return self._forward.held(snapshot, fields(snapshot))

    def _page(self) -> dict[str, Any]:
        snapshot = self._watch.snapshot()
        below = details(self._watch, snapshot)
        return {
            "number": self.number,
            **self._where(),
            "fields": self._forward.held(snapshot, fields(snapshot)),
            "certificate": below.pop("certificate"),
            "settings": self._watch.settings(snapshot.result) if snapshot.result else [],
            "arms": below.pop("arms"),
            "said_of_arms": said_of_arms(snapshot.n_arms),
            "failures": below.pop("failures"),
            "figures": DESCRIPTIONS,
            "payload": safe_json(below),
        }

    def _where(self) -> dict[str, str]:
        """Return the file with its folder: studies of one name lie in different ones."""
        path = self.path.absolute()
        return {"file": printable(f"{path.parent.name}/{path.name}"), "place": printable(str(path))}

    def _bounds(self) -> dict[str, Any]:
        hardness, snapshot = self._watch.hardness(), self._watch.snapshot()
        if hardness is None or snapshot.result is None or not snapshot.result.settings.modelled:
            return {}
        return {"bounds": bounds_drawing(snapshot.result, hardness).spec()}


class _Onward:
    """Holds a study's bar where it has been, until another study is in the file or more is asked
    of this one.
    """

    def __init__(self) -> None:
        self._forward, self._told, self._finished = Forward(), 0, False

    def held(self, snapshot: _Moment, fields: dict[str, Any]) -> dict[str, Any]:
        told = snapshot.status.told if snapshot.status else 0
        finished = snapshot.state == "finished"
        if told < self._told or (self._finished and not finished):
            self._forward = Forward()
        self._told, self._finished = told, finished
        share = fields["done"]
        return fields if share is None else fields | {"done": self._forward.at(share)}


def _csv_blocks(path: Path) -> Iterator[str]:
    with StudyReader(path) as reader:
        since, header = 0, True
        while not (block := reader.pulls(since, CSV_BLOCK)).empty or header:
            yield spreadsheet_safe(block).to_csv(index=False, header=header)
            if block.empty:
                return
            since, header = int(block["id"].iloc[-1]) + 1, False
