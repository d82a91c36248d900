"""Runs of a benchmark, spread over two processes and kept as they end.

What was stopped goes on where it was: parts are numbered in the order in which the same code asks
for them, and those that ended are on disk until the benchmark's rows are complete.
`SUREFOOT_BENCH_PROCESSES` is the number of processes, `SUREFOOT_BENCH_UNTIL` the time, in seconds
since 1970, at which no further part is begun.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from pathlib import Path
from typing import Any

from surefoot.system.processes import ONE_THREAD, ProcessPool

PROCESSES = int(os.environ.get("SUREFOOT_BENCH_PROCESSES", "2"))
UNTIL = float(os.environ.get("SUREFOOT_BENCH_UNTIL", "inf"))
EVERY = 30.0  # seconds between two lines about how far it is


class TimeIsUp(RuntimeError):
    """The time that was given is over; what ended before is kept."""


class _Kept:
    """Results of the parts of one benchmark, by their numbers.

    Args:
        path: where they stand; None keeps nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path, self.asked = path, 0
        self.results: dict[tuple[int, int], Any] = {}
        if path is not None and path.exists():
            self._read(path)

    def add(self, key: tuple[int, int], result: Any) -> None:
        self.results[key] = result
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(pickle.dumps((key, result)))

    def _read(self, path: Path) -> None:
        whole = 0
        with path.open("rb") as file, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                key, result = pickle.load(file)
                self.results[key], whole = result, file.tell()
        os.truncate(path, whole)


_kept = _Kept()


@contextlib.contextmanager
def kept_in(path: Path | None) -> Iterator[None]:
    """Keep the results of all parts in this file, until the block ends without an error."""
    global _kept
    before, _kept = _kept, _Kept(path)
    try:
        yield
    finally:
        _kept = before
    if path is not None:
        path.unlink(missing_ok=True)


def spread(function: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return `function(*part)` for all parts, in their order.

    Args:
        function: stands in a module, and does the same for the same part whenever it is called.
    """
    call, _kept.asked = _kept.asked, _kept.asked + 1
    left = [k for k in range(len(parts)) if (call, k) not in _kept.results]
    said, begun, count = time.monotonic(), time.monotonic(), len(left)
    working: dict[Future[Any], int] = {}
    while left or working:
        while left and len(working) < 2 * PROCESSES:
            if time.time() > UNTIL:
                break
            k = left.pop(0)
            working[_pool().submit(function, *parts[k])] = k
        if not working:
            raise TimeIsUp(f"{len(left)} of {len(parts)} parts are left")
        for future in wait(working, return_when=FIRST_COMPLETED).done:
            _kept.add((call, working.pop(future)), future.result())
        if time.monotonic() - said > EVERY:
            said, missing = time.monotonic(), len(left) + len(working)
            rest = (said - begun) / (count - missing) * missing / 60
            told = f"  {len(parts) - missing} of {len(parts)} parts, {rest:.1f} minutes left"
            print(told, file=sys.stderr, flush=True)
    return [_kept.results[call, k] for k in range(len(parts))]


def require_time() -> None:
    """Stop before work that cannot be split, if the time is over."""
    if time.time() > UNTIL:
        raise TimeIsUp("the next row is left")


@cache
def _pool() -> ProcessPool:
    """The processes of all parts: each loads the compiled code once."""
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    return ProcessPool(PROCESSES)
