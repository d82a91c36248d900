"""Commands as a terminal runs them: in a process group of their own, which Ctrl-C reaches as a
whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.waiting import PATIENCE

# what an installed `surefoot` does; it says so when Python is up and our first instruction is next
PROGRAM = (
    "import sys\n"
    "from surefoot.__main__ import main\n"
    "if __name__ == '__main__':\n"
    "    sys.stdout.write('begun\\n')\n"
    "    sys.stdout.flush()\n"
    "    main()\n"
)


class Command:
    """A running `surefoot` command; `begun` once its first instruction is next."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        program = folder / "surefoot_command.py"
        program.write_text(PROGRAM)
        self._process = subprocess.Popen(
            [sys.executable, str(program), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "begun\n"
        self.begun = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def interrupt(self) -> Ending:
        """Press Ctrl-C, and wait for the end."""
        os.killpg(self.pid, signal.SIGINT)
        pressed = time.monotonic()
        code = self._process.wait(timeout=PATIENCE)
        seconds = time.monotonic() - pressed
        _, words = self._process.communicate(timeout=PATIENCE)
        return Ending(code, words, seconds)


class Ending(NamedTuple):
    """How a command ended, and how long after the interrupt."""

    code: int
    words: str
    seconds: float


@contextlib.contextmanager
def busy_machine(count: int = 2) -> Iterator[None]:
    """Other processes that never rest."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
