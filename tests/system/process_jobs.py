"""Jobs for the tests of the process pool; its processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from typing import Any


def interrupts() -> tuple[bool, bool]:
    """Whether they are ignored, and whether they are blocked."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN, signal.SIGINT in blocked


def environment(names: tuple[str, ...]) -> list[str | None]:
    return [os.environ.get(name) for name in names]


def same(value: Any) -> Any:
    return value


def sleep_long() -> None:
    time.sleep(600)
