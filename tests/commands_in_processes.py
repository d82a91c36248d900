"""Commands as a terminal runs them: in a process group of their own, which Ctrl-C reaches as a
whole.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import psutil

from surefoot.study import StudyReader
from tests.waiting import PATIENCE, line_of, wait_for

# what an installed `surefoot` does; it says so when Python is up and our first instruction is next,
# for which an interrupt has to wait: before it, Python answers for what comes
PROGRAM = (
    "import signal, sys\n"
    "from surefoot.__main__ import main\n"
    "if __name__ == '__main__':\n"
    "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"
    "    sys.stdout.write('begun\\n')\n"
    "    sys.stdout.flush()\n"
    "    main()\n"
)


class Command:
    """A running `surefoot` command, or another program that prints `begun`; `begun` once its first
    instruction is next.
    """

    def __init__(self, folder: Path, *arguments: str, content: str = PROGRAM) -> None:
        program = folder / "surefoot_command.py"
        program.write_text(content)
        self._process = subprocess.Popen(
            [sys.executable, str(program), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert line_of(self._process) == "begun\n"
        self.begun = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def seconds_until(self, event: Callable[[], bool]) -> float:
        """How long after its first instruction something happened; the command is ended then."""
        wait_for(event)
        seconds = time.monotonic() - self.begun
        self.interrupt()
        return seconds

    def seconds_until_children(self, number: int) -> float:
        """Return how long after its first instruction more processes than these were running."""
        driver = psutil.Process(self.pid)
        return self.seconds_until(lambda: len(driver.children()) > number)

    def at(self, seconds: float) -> Self:
        """Wait for that moment after its first instruction."""
        time.sleep(max(0.0, self.begun + seconds - time.monotonic()))
        return self

    def interrupt(self) -> Ending:
        """Press Ctrl-C, and wait for the end."""
        return self.ended_by(signal.SIGINT)

    def ended_by(self, number: signal.Signals) -> Ending:
        """Send a signal, Ctrl-C to the whole group as a terminal does, and wait for the end."""
        queued = _queued(self.pid)
        send = os.killpg if number == signal.SIGINT else os.kill
        send(self.pid, number)
        pressed = time.monotonic()
        with _handle(self.pid) as ended:
            assert select.select([ended], [], [], PATIENCE)[0]
            seconds = time.monotonic() - pressed
            queued = _queued(self.pid) - queued  # while it is not reaped
        _, words = self._process.communicate(timeout=PATIENCE)
        return Ending(self._process.returncode, words, seconds - queued)


class Ending(NamedTuple):
    """How a command ended, and how long after the interrupt, without the time that it stood in line
    for a processor: how many others there are is no merit or fault of the command.
    """

    code: int
    words: str
    seconds: float


def told(folder: Path) -> int:
    """Rewards of the study in a folder; none if it has not begun."""
    if not (folder / "study.db").exists():
        return 0
    with StudyReader(folder / "study.db") as reader:
        return reader.status().told


def _queued(process: int) -> float:
    """Seconds that it was ready and had no processor."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9


@contextlib.contextmanager
def _handle(process: int) -> Iterator[int]:
    """A file descriptor that can be read once the process has ended."""
    handle = os.pidfd_open(process)
    try:
        yield handle
    finally:
        os.close(handle)


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
