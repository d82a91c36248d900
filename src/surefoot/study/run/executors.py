"""Where pulls are simulated: processes, threads, here, a cluster, anything with submit()."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from surefoot.errors import InputError, Unavailable
from surefoot.study.file.storage import Running
from surefoot.study.pull import Pull, Simulate
from surefoot.study.run.worker import Board
from surefoot.system.processes import ProcessPool, cores

DASK_PATIENCE = "10s"  # with a scheduler that does not answer
LOST = {
    "KilledWorker",
    "CommClosedError",
    "BrokenExecutor",
    "BrokenProcessPool",
    "CancelledError",
    "FutureCancelledError",
}


def is_loss(error: BaseException) -> bool:
    """Return whether the worker was lost, not the pull: by class name, for Dask may be missing."""
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & LOST) or isinstance(
        error, CancelledError | ConnectionError | EOFError | TimeoutError
    )


def deaths_in(error: BaseException) -> int:
    """Count the workers behind a loss: Dask tries several before it reports one."""
    return 1 + int(getattr(error, "allowed_failures", 0) or 0)


class _SerialExecutor(Executor):
    """Simulates at once, in the caller's own thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Workers:
    """A caller's executor, which the caller shuts down.

    Attributes:
        depth: how many chunks to send for each worker when pulls are short: two, so that no worker
            waits for the next.
        grows: whether to send as many when pulls are long: schedulers that add workers where pulls
            wait must see them wait.

    Args:
        assumed: how many workers it has, if it does not say.
    """

    depth = 2
    grows = False

    def __init__(self, executor: Any, assumed: int | None = None) -> None:
        self._executor, self._assumed = executor, assumed

    @property
    def size(self) -> int:
        """The number of pulls that it can simulate at the same time, as far as we can see."""
        known = (
            getattr(self._executor, name, None)
            for name in ("_max_workers", "max_workers", "num_workers")
        )
        return next(
            (int(size) for size in known if isinstance(size, int)), self._assumed or cores()
        )

    @property
    def one_at_a_time(self) -> bool:
        """True if pulls are simulated one after the other."""
        return self.size == 1

    @property
    def ready(self) -> bool:
        """True if pulls can be handed out now."""
        return True

    @property
    def trouble(self) -> str | None:
        """Why nothing comes back, if that is known."""
        return None

    def refusal(self, error: BaseException | None) -> InputError | None:
        """Return why an error must end the run, such as an unfit worker; None if it need not."""
        return None

    def running(self, flying: Mapping[Any, tuple[list[Pull], float]]) -> list[Running]:
        """Return the pulls that are being simulated.

        Args:
            flying: pulls handed out, and when.
        """
        return [
            Running(chunk[0].id, since, None)
            for future, (chunk, since) in flying.items()
            if not hasattr(future, "running") or future.running()
        ]

    def moved(self, flying: Mapping[Any, tuple[list[Pull], float]]) -> list[Pull]:
        """Return pulls that lost their worker since the last call and were handed to another."""
        return []

    def submit(
        self,
        function: Callable[..., Any],
        simulator: Simulate,
        chunk: list[Pull],
    ) -> Any:
        return self._executor.submit(function, simulator, chunk)

    def cancel(self, future: Any) -> bool:
        """Take back pulls that have not begun."""
        return bool(future.cancel())

    def repair(self) -> None:
        """Make it work again after a worker was lost, where that is not done by itself."""

    def stop(self, *, wait: bool) -> None:
        """Leave nothing of ours behind; without `wait`, at once."""


class _SerialWorkers(Workers):
    """No workers: each reward is stored before the next pull begins."""

    depth = 1

    def __init__(self) -> None:
        super().__init__(_SerialExecutor())

    @property
    def size(self) -> int:
        return 1


class _OwnThreads(Workers):
    """Threads for this run."""

    def __init__(self) -> None:
        super().__init__(ThreadPoolExecutor(cores()))

    def stop(self, *, wait: bool) -> None:
        self._executor.shutdown(wait=wait, cancel_futures=True)


class _ProcessWorkers(Workers):
    """A caller's ProcessPoolExecutor; if broken, replaced by a new pool with its settings."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        super().__init__(pool)
        self._ours = False

    def repair(self) -> None:
        broken: Any = self._executor
        if broken._broken:
            self.stop(wait=False)
            self._executor = ProcessPoolExecutor(
                broken._max_workers,
                mp_context=broken._mp_context,
                initializer=broken._initializer,
                initargs=broken._initargs,
            )
            self._ours = True

    def submit(
        self,
        function: Callable[..., Any],
        simulator: Simulate,
        chunk: list[Pull],
    ) -> Any:
        try:
            return super().submit(function, simulator, chunk)
        except BrokenProcessPool:
            self.repair()
            return super().submit(function, simulator, chunk)

    def stop(self, *, wait: bool) -> None:
        if not self._ours:
            return
        if not wait:
            for process in list((self._executor._processes or {}).values()):
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


class _OwnProcesses(_ProcessWorkers):
    """Processes for this run, which report their current pulls."""

    def __init__(self, size: int | None = None) -> None:
        self._count = size or cores()
        super().__init__(self._fresh())
        self._ours = True

    def running(self, flying: Mapping[Any, tuple[list[Pull], float]]) -> list[Running]:
        return self._board.running()

    def repair(self) -> None:
        if self._executor._broken:
            self.stop(wait=False)
            self._executor = self._fresh()

    def _fresh(self) -> ProcessPool:
        self._board = Board(self._count)
        start = multiprocessing.get_start_method()
        return ProcessPool(self._count, start, Board.join, (self._board,))


def dask_client(address: str) -> Any:
    """Return a client of the Dask cluster whose scheduler listens there; the caller closes it."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'surefoot[dask]'") from None
    # Dask's messages on a lost connection are replaced by one sentence of ours
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        options = {"timeout": DASK_PATIENCE, "set_as_default": False}
        return Client(address, **options)  # type: ignore[no-untyped-call]
    except Exception as error:  # many kinds, by the fault of the address
        raise Unavailable(
            f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, "
            "and give the address that it prints, such as tcp://host:8786"
        ) from None


def workers_from(executor: Any, max_in_flight: int | None = None) -> Workers:
    """Return the workers that the caller's choice of executor means."""
    if executor is None or executor == "processes":
        return _OwnProcesses()
    if isinstance(executor, str):
        named: dict[str, Callable[[], Workers]] = {"threads": _OwnThreads, "serial": _SerialWorkers}
        if executor in named:
            return named[executor]()
    if isinstance(executor, int) and not isinstance(executor, bool) and executor > 0:
        return _OwnProcesses(executor)
    if isinstance(executor, ProcessPoolExecutor):
        return _ProcessWorkers(executor)
    if isinstance(executor, _SerialExecutor):
        return _SerialWorkers()
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        from surefoot.study.run.cluster import DaskWorkers

        return DaskWorkers(executor)
    if callable(getattr(executor, "submit", None)):
        return Workers(executor, max_in_flight)
    raise InputError(
        f"executor={executor!r} cannot run pulls: give None, a number of processes, 'threads', "
        "'serial', an object with submit(), or a Dask client"
    )
