"""How far an experiment is: a bar with the remaining time in a terminal, a line now and then in a
log, or nothing.
"""

from __future__ import annotations

import time
from typing import Protocol, TextIO

from surefoot.progress import duration

SECONDS_BETWEEN_LINES = 10.0


class JobProgress(Protocol):
    """Anything that wants to know. Work is in the unit of the jobs' weights."""

    def begin(self, title: str, work: float, done: float) -> None: ...

    def advance(self, work: float) -> None: ...

    def end(self) -> None: ...


class Silent:
    """Says nothing."""

    def begin(self, title: str, work: float, done: float) -> None:
        pass

    def advance(self, work: float) -> None:
        pass

    def end(self) -> None:
        pass


class Lines:
    """A line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self, title: str, work: float, done: float) -> None:
        self._title, self._work, self._done, self._fresh = title, work, done, 0.0
        self._begun = self._said = time.monotonic()

    def advance(self, work: float) -> None:
        self._done += work
        self._fresh += work
        now = time.monotonic()
        if now - self._said >= SECONDS_BETWEEN_LINES:
            self._said = now
            left = (now - self._begun) * (self._work - self._done) / self._fresh
            share = 100 * self._done / self._work
            print(
                f"{self._title}: {share:.0f} %, {duration(left)} left",
                file=self._stream,
                flush=True,
            )

    def end(self) -> None:
        pass


class Bar:
    """A bar in a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self, title: str, work: float, done: float) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn(title),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bar = Progress(*columns, console=Console(file=self._stream), transient=True)
        self._task = self._bar.add_task(title, total=work)
        self._bar.update(self._task, completed=done)
        self._bar.start()

    def advance(self, work: float) -> None:
        self._bar.advance(self._task, work)

    def end(self) -> None:
        self._bar.stop()


def progress_for(stream: TextIO, quiet: bool) -> JobProgress:
    """A bar if somebody is looking, lines if not, nothing if nobody wants to know."""
    if quiet:
        return Silent()
    return Bar(stream) if stream.isatty() else Lines(stream)
