"""What Ctrl-C means while a study runs."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from surefoot.errors import StudyInterrupted

LEFT = "stopped without waiting; what was running will be pulled again"


class Stopping:
    """First SIGINT: finish what is running. Second: do not.

    Attributes:
        asked: whether one has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._leaving, self._idle = False, False

    @property
    def words(self) -> str | None:
        """The sentence that is said about it."""
        if not self.asked:
            return None
        return "stopping: waiting for what is running, interrupt again to leave at once"

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take interrupts in this block. Elsewhere than in the main thread, none arrives."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def leavable(self) -> Iterator[None]:
        """Where a second SIGINT may strike at once: not between a write and what follows from it.

        If it is swallowed there, by a compiled callback for example, it strikes the next time.
        """
        if self._leaving:
            raise StudyInterrupted(LEFT)
        self._idle = True
        try:
            yield
        finally:
            self._idle = False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self._leaving = True
            if self._idle:
                raise StudyInterrupted(LEFT)
        self.asked = True
