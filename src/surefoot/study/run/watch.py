"""What is going on in a run: for the progress display, and in the file for everybody else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from surefoot.errors import StudyFileError
from surefoot.study.file.storage import Running
from surefoot.study.ledger import Ledger
from surefoot.system.progress import Progress, duration

REFRESH = 0.2  # seconds between reports on progress
NOTED_EVERY = 1.0  # seconds between notes in the file of what is running
NOTED_AFTER = 1.0  # seconds: what is quicker is not worth a note
SHOWN_AFTER = 10.0  # seconds: what is quicker is not worth a word
MOST = 64  # notes; those that run longest


class Watch:
    """Tells how far a run is, at most every now and then.

    Attributes:
        trouble: the last loss or failure.
    """

    def __init__(self, ledger: Ledger, progress: Progress) -> None:
        self._ledger, self._progress = ledger, progress
        self._began, self._told_before = time.monotonic(), ledger.told
        self._shown, self._noted = -REFRESH, time.monotonic()
        self._notes: list[Running] = []
        self.trouble: str | None = None

    def look(self, in_flight: int, running: Callable[[], list[Running]], hint: str | None) -> None:
        """Show and note what is going on, if it is time for that.

        Args:
            running: gives what is being simulated.
            hint: more urgent than trouble.
        """
        now = time.monotonic()
        if now - self._shown < REFRESH:
            return
        self._shown = now
        if now - self._noted >= NOTED_EVERY:
            self._noted = now
            self._note(running())
        words = [word for word in (hint or self.trouble, self._longest()) if word]
        pace = (self._ledger.told - self._told_before) / max(now - self._began, 1e-9)
        self._progress.update(
            self._ledger.snapshot(in_flight, pace or None, ", ".join(words) or None)
        )

    def close(self) -> None:
        self._progress.close()
        with contextlib.suppress(StudyFileError):  # then the run has ended for that reason
            self._note([])

    def _note(self, running: list[Running]) -> None:
        old = time.time() - NOTED_AFTER
        notes = sorted((one for one in running if one.since < old), key=lambda one: one.since)
        if notes[:MOST] != self._notes:
            self._notes = notes[:MOST]
            self._ledger.set_running(self._notes)

    def _longest(self) -> str | None:
        if not self._notes:
            return None
        longest, seconds = self._notes[0], time.time() - self._notes[0].since
        where = f" on {longest.worker}" if longest.worker else ""
        words = f"pull {longest.pull} runs for {duration(seconds)}{where}"
        return words if seconds >= SHOWN_AFTER else None
