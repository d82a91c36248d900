"""The process pool: one thread per process, deaf to interrupts, ended with the driver."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

from surefoot.system.interrupts import deferred

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

P = ParamSpec("P")
T = TypeVar("T")


class ProcessPool(ProcessPoolExecutor):
    """An executor of fresh processes with one thread each.

    They are spawned, not forked: a fork inherits however many threads numpy began with, and how
    sums are split over threads changes their last bits.

    Args:
        count: how many processes; each begins when there is work for it.
        start: another of multiprocessing's ways to start a process.
        then: called with `known` in each process, once it is prepared.
    """

    def __init__(
        self,
        count: int,
        start: str = "spawn",
        then: Callable[..., None] | None = None,
        known: tuple[Any, ...] = (),
    ) -> None:
        with deferred(), _environment({"PYTHONWARNINGS": _quiet_tracker()}):
            resource_tracker.ensure_running()
        super().__init__(
            count,
            mp_context=multiprocessing.get_context(start),
            initializer=_begin,
            initargs=(then, known),
        )

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with _inherited_by_children():
            return super().submit(function, *args, **kwargs)

    def stop(self) -> None:
        """End all processes now, even busy ones."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(wait=True, cancel_futures=True)


def _begin(then: Callable[..., None] | None, known: tuple[Any, ...]) -> None:
    _prepare_process()
    if then is not None:
        then(*known)


def _prepare_process() -> None:
    """Set up a process of the pool: it leaves interrupts to its driver, and dies with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # it began with interrupts blocked, and processes that it starts would inherit that
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_die_with_parent, daemon=True).start()


def cores() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextlib.contextmanager
def _inherited_by_children() -> Iterator[None]:
    """Let processes begun meanwhile use one thread, and are deaf to a terminal's Ctrl-C.

    Here an interrupt waits for the end of the block. The mask alone would not do: it holds for this
    thread, and any other can receive the signal on its behalf.
    """
    with deferred(), _environment(dict.fromkeys(ONE_THREAD, "1")):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _quiet_tracker() -> str:
    """Warnings but those of multiprocessing, which calls semaphores leaked after an interrupt."""
    given = os.environ.get("PYTHONWARNINGS")
    return ",".join([*([given] if given else []), "ignore:resource_tracker"])
