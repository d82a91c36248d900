"""Where the jobs of an experiment run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol

from surefoot.study.executors import dask_client

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class JobWorkers(Protocol):
    """What a session needs: futures for jobs, and an end."""

    def submit_all(
        self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]
    ) -> list[Any]: ...

    def stop(self) -> None: ...


class Processes:
    """Fresh processes with one thread each.

    They are spawned, not forked: a fork inherits however many threads numpy began with, and how
    sums are split over threads changes their last bits.
    """

    def __init__(self, count: int) -> None:
        self._pool = ProcessPoolExecutor(
            count, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare
        )

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        with _inherited_by_workers():
            return [self._pool.submit(function, *job) for job in jobs]

    def stop(self) -> None:
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Cluster:
    """A Dask cluster; it gives the jobs of a dead worker to another by itself."""

    def __init__(self, address: str) -> None:
        self._client = dask_client(address)
        self._futures: list[Any] = []

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        executor = self._client.get_executor(pure=False)
        self._futures = [executor.submit(function, *job) for job in jobs]
        return self._futures

    def stop(self) -> None:
        for future in self._futures:
            future.cancel()
        self._client.close()


def _prepare() -> None:
    from surefoot.study.worker import prepare_process

    prepare_process()


@contextlib.contextmanager
def _inherited_by_workers() -> Iterator[None]:
    """Processes begun meanwhile use one thread, and leave Ctrl-C, which reaches all of a
    terminal's, to this one.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    handler = _set_interrupt(signal.SIG_IGN)
    try:
        yield
    finally:
        _set_interrupt(handler)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _set_interrupt(handler: Any) -> Any:
    with contextlib.suppress(
        ValueError
    ):  # not the main thread, where interrupts do not come anyway
        return signal.signal(signal.SIGINT, handler)
