"""Where pulls are simulated: processes, threads, here and now, a Dask cluster, or any object with
submit().
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from surefoot.errors import InputError
from surefoot.study.worker import prepare_process

LOST = {
    "KilledWorker",
    "CommClosedError",
    "BrokenExecutor",
    "BrokenProcessPool",
    "CancelledError",
    "FutureCancelledError",
}


def is_loss(error: BaseException) -> bool:
    """Whether the worker was lost, rather than the pull failed: by class name, since Dask may not
    be installed.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & LOST) or isinstance(
        error, CancelledError | ConnectionError | EOFError | TimeoutError
    )


class SerialExecutor(Executor):
    """Simulates at once, in the caller's own thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Workers:
    """An executor that somebody else made and will shut down.

    Attributes:
        depth: how many chunks to send for each worker when pulls are short: two, so that none waits
            for the next.

    Args:
        assumed: how many workers it has, if it does not say.
    """

    depth = 2

    def __init__(self, executor: Any, assumed: int | None = None) -> None:
        self._executor, self._assumed = executor, assumed

    @property
    def size(self) -> int:
        """How many pulls it can simulate at the same time, as far as we can see."""
        known = (
            getattr(self._executor, name, None)
            for name in ("_max_workers", "max_workers", "num_workers")
        )
        return next(
            (int(size) for size in known if isinstance(size, int)), self._assumed or cores()
        )

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._executor.submit(function, *args)

    def cancel(self, future: Any) -> bool:
        """Take back what has not begun."""
        return bool(future.cancel())

    def repair(self) -> None:
        """Make it work again after a worker was lost, where that is not done by itself."""

    def stop(self, *, wait: bool) -> None:
        """Leave nothing of ours behind; without `wait`, at once."""


class SerialWorkers(Workers):
    """No workers at all: what comes back is stored before the next pull begins."""

    depth = 1

    def __init__(self) -> None:
        super().__init__(SerialExecutor())

    @property
    def size(self) -> int:
        return 1


class OwnThreads(Workers):
    """Threads for this run."""

    def __init__(self) -> None:
        super().__init__(ThreadPoolExecutor(cores()))

    def stop(self, *, wait: bool) -> None:
        self._executor.shutdown(wait=wait, cancel_futures=True)


class ProcessWorkers(Workers):
    """A process pool; a broken one is replaced by one made alike.

    Args:
        pool: the caller's, which the caller shuts down; what we make instead of it is ours to end.
    """

    def __init__(self, pool: ProcessPoolExecutor | None, size: int | None = None) -> None:
        self._ours = pool is None
        super().__init__(pool or ProcessPoolExecutor(size or cores(), initializer=prepare_process))

    def repair(self) -> None:
        broken: Any = self._executor
        if not broken._broken:
            return
        self.stop(wait=False)
        self._executor = ProcessPoolExecutor(
            broken._max_workers,
            mp_context=broken._mp_context,
            initializer=broken._initializer,
            initargs=broken._initargs,
        )
        self._ours = True

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return super().submit(function, *args)
        except BrokenProcessPool:
            self.repair()
            return super().submit(function, *args)

    def stop(self, *, wait: bool) -> None:
        if not self._ours:
            return
        processes = list((self._executor._processes or {}).values())
        if not wait:
            for process in processes:
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


class DaskWorkers(Workers):
    """A Dask cluster. It moves pulls from dead workers to living ones by itself, and workers may
    come and go.
    """

    REFRESH = 5.0  # seconds between looks at how many workers there are

    def __init__(self, client: Any) -> None:
        # a repeated pull must be simulated again, not looked up
        super().__init__(client.get_executor(pure=False))
        self._client, self._size, self._looked = client, 1, -self.REFRESH

    @property
    def size(self) -> int:
        if time.monotonic() - self._looked >= self.REFRESH:
            self._looked = time.monotonic()
            self._size = max(1, sum(self._client.nthreads().values()))
        return self._size

    def cancel(self, future: Any) -> bool:
        return False  # Dask cannot tell what has begun, and would throw away what is running


def dask_client(address: str) -> Any:
    """A client of the Dask cluster whose scheduler listens there; the caller closes it."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--dask needs Dask: pip install 'surefoot[dask]'") from None
    try:
        return Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`"
        ) from None


def workers_from(executor: Any, max_in_flight: int | None = None) -> Workers:
    """The workers that the caller's choice of executor means."""
    if executor is None or executor == "processes":
        return ProcessWorkers(None)
    if isinstance(executor, str):
        named: dict[str, Callable[[], Workers]] = {"threads": OwnThreads, "serial": SerialWorkers}
        if executor in named:
            return named[executor]()
    if isinstance(executor, int) and not isinstance(executor, bool) and executor > 0:
        return ProcessWorkers(None, executor)
    if isinstance(executor, ProcessPoolExecutor):
        return ProcessWorkers(executor)
    if isinstance(executor, SerialExecutor):
        return SerialWorkers()
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return DaskWorkers(executor)
    if callable(getattr(executor, "submit", None)):
        return Workers(executor, max_in_flight)
    raise InputError(
        f"executor={executor!r} cannot run pulls: give None, a number of processes, "
        f"'threads', 'serial', an object "
        "with submit(), or a Dask client"
    )


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
