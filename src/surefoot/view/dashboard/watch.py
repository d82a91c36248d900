"""Watching one study file: opened read-only, looked at when somebody looks, whatever happens to it
meanwhile.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.study import StudyReader
from surefoot.view.report.facts import Fact, estimated_hardness, settings_facts

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.design.hardness import Complexity
    from surefoot.study.file.reader import Status

FRESH = 0.25  # seconds: several readers within it share a snapshot

State = Literal["running", "interrupted", "waiting", "paused", "finished", "missing", "broken"]


@dataclass(frozen=True, eq=False)
class Moment:
    """A study at one moment, or why it cannot be seen.

    Attributes:
        state: "interrupted" is running in name, but nobody runs it; "waiting" has no reward yet;
            "missing" and "broken" files have no status.
        trouble: why there is no status or no result.
        result: after the last complete phase; None if it cannot be told.
    """

    name: str
    state: State
    status: Status | None = None
    result: Result | None = None
    n_arms: int = 0
    trouble: str | None = None

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
        self._last: Moment | None = None
        self._taken = 0.0
        self._hardness: dict[str, Complexity | None] = {}

    def snapshot(self) -> Moment:
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
        """Rewards in each of the last minutes."""
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
        """Let go of the file, unless somebody still reads it."""
        if self._lock.acquire(timeout=1.0):
            self._forget()
            self._lock.release()

    def _take(self) -> Moment:
        try:
            reader = self._opened()
            if reader is None:
                return Moment(
                    self._name,
                    "missing",
                    trouble=f"There is no file {self.path.name} any more, or not yet.",
                )
            status = reader.status()
            return self._read(reader, status)
        except (InputError, sqlite3.Error, OSError) as error:
            self._forget()
            return Moment(self._name, "broken", trouble=str(error))

    def _read(self, reader: StudyReader, status: Status) -> Moment:
        before = self._last
        if before and before.status and before.result and _same_knowledge(before.status, status):
            known: tuple[Result | None, str | None] = before.result, None
        else:
            known = _recorded(reader)
        return Moment(
            self._name,
            _state(status),
            status,
            known[0],
            reader.problem.n_arms,
            known[1],
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


def _state(status: Status) -> State:
    if status.state != "running":
        return status.state
    if status.writer:
        return "running"
    return "interrupted" if status.told else "waiting"


def _recorded(reader: StudyReader) -> tuple[Result | None, str | None]:
    try:
        return reader.recorded, None
    except InputError as error:
        return None, str(error)


def _same_knowledge(one: Status, other: Status) -> bool:
    return (one.phase, one.state, one.sentence) == (other.phase, other.state, other.sentence)
