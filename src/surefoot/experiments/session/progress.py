"""From finished jobs to what a display shows: how much is done, and how long the rest will take."""

from __future__ import annotations

import time
from typing import Self

from surefoot.system.progress import JobProgress, JobsSnapshot


class Meter:
    """Counts finished work and tells a display, until the block ends.

    Args:
        title: what is being done.
        work: of all jobs, in the unit of their weights.
        done: of those that were finished before.
    """

    def __init__(self, display: JobProgress, title: str, work: float, done: float = 0.0) -> None:
        self._display, self._title, self._work = display, title, work
        self._before = self._done = done
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        self._tell(None)
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()

    def advance(self, work: float) -> None:
        """Count a job of this weight as finished."""
        self._done += work
        pace = (self._done - self._before) / max(time.monotonic() - self._begun, 1e-9)
        self._tell((self._work - self._done) / pace)

    def _tell(self, seconds_left: float | None) -> None:
        self._display.update(JobsSnapshot(self._title, self._work, self._done, seconds_left))
