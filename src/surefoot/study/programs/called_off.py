"""On a cluster: the programs of a pull end when its driver does, though the worker stays.

A driver that goes, in whatever way, loses its connection to the scheduler, which then calls its
tasks off. Dask cannot end the thread that has begun one, but the program that it waits for can be
ended.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from surefoot.study.programs.program import end_program_of

REFRESH = 1.0  # seconds between looks at the task


@contextlib.contextmanager
def programs_end_with_their_task() -> Iterator[None]:
    """Within the block, end what this thread runs as soon as its task is called off."""
    worker = _this_worker()
    if worker is None:
        yield
        return
    over = threading.Event()
    watched = (worker, worker.get_current_task(), threading.get_ident(), over)
    threading.Thread(target=_watch, args=watched, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _this_worker() -> Any | None:
    """The Dask worker to which this thread belongs, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _watch(worker: Any, key: str, thread: int, over: threading.Event) -> None:
    """Look again after an end: the next pull of the chunk may have begun a program."""
    while not over.wait(REFRESH):
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            end_program_of(thread)
