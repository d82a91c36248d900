"""Waiting for an event, not for a clock; limits are for what never comes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

A_DAY = 86_400.0  # seconds; what says when it happened may be asked on a clock that was set
PATIENCE = 240.0  # seconds; on a busy machine a process may take a minute to begin


def wait_for(event: Callable[[], bool]) -> None:
    """Return when it has happened."""
    deadline = time.monotonic() + PATIENCE
    while not event():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that it prints; all that follows is left to `communicate`."""
    assert process.stdout is not None
    found = b""
    while not found.endswith(b"\n") and (letter := os.read(process.stdout.fileno(), 1)):
        found += letter
    return found.decode()


def pending_interrupt(process: int) -> bool:
    """Whether the kernel still holds an interrupt for it."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("ShdPnd", "SigPnd"))]
    return any(mask >> (signal.SIGINT - 1) & 1 for mask in masks)
