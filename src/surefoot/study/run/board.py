"""What each process of a pool is simulating, in memory that it shares with the driver.

Writing there costs a worker less than a microsecond, and needs nobody to listen.
"""

from __future__ import annotations

import time
from multiprocessing import Value
from multiprocessing.sharedctypes import RawArray
from os import getpid
from typing import Any

from surefoot.study.file.storage import Running

COLUMNS = 3  # the process, the pull and when it began


class Board:
    """A row for each process of a pool; a process number of 0 means that nobody is busy there."""

    def __init__(self, size: int) -> None:
        self._rows: Any = RawArray("d", COLUMNS * size)
        self._taken: Any = Value("i", 0)

    def join(self) -> None:
        """Give this process a row; `begins` and `ends` write there from now on."""
        global _mine
        with self._taken:
            first = COLUMNS * self._taken.value
            self._taken.value += 1
        if first < len(self._rows):
            _mine = (self._rows, first)

    def running(self) -> list[Running]:
        rows = list(self._rows)
        return [
            Running(int(pull), since, f"process {int(process)}")
            for process, pull, since in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
            if process
        ]


_mine: tuple[Any, int] | None = None  # the row of this process


def begins(pull: int) -> None:
    """Say that this process begins to simulate a pull."""
    if _mine is not None:
        rows, first = _mine
        rows[first + 1], rows[first + 2] = pull, time.time()
        rows[first] = getpid()


def ends() -> None:
    """Say that it is done."""
    if _mine is not None:
        rows, first = _mine
        rows[first] = 0
