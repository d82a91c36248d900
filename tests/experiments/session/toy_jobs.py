"""Jobs small enough to test sessions with; worker processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from surefoot.experiments.session import FOLDER
from tests.waiting import wait_for


def finished(out: Path) -> int:
    """Count the jobs in the journal."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob(f"{FOLDER}/*.jsonl"))


def square(number: int, notes: str | None = None) -> dict[str, float | int]:
    """Leave a note of being called, and give numbers that need every digit."""
    if notes is not None:
        (Path(notes) / f"{number}-{time.time_ns()}").touch()
    return {"square": number**2, "third": number / 3, "process": os.getpid()}


def square_unless_gone(number: int, notes: str) -> dict[str, float | int]:
    """The worker that gets number 3 is killed while a file `deadly` is there."""
    if number == 3 and (Path(notes) / "deadly").exists():
        wait_for(lambda: finished(Path(notes).with_name("out")) >= 3)
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number, notes)


def held_square(number: int, notes: str) -> dict[str, float | int]:
    """Once four are finished, the others wait for a file `go` beside the notes."""
    while len(list(Path(notes).iterdir())) >= 4 and not Path(notes).with_name("go").exists():
        time.sleep(0.02)
    return square(number, notes)


def threads(_: int) -> list[str | None]:
    return [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]


def failing(number: int) -> int:
    raise ZeroDivisionError(f"job {number}")
