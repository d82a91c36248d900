"""Where the jobs of an experiment run: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from surefoot.study.run.executors import dask_client
from surefoot.system.processes import ProcessPool


class JobWorkers(Protocol):
    """What a session needs: futures for jobs, and an end."""

    def submit_all(
        self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]
    ) -> list[Any]: ...

    def stop(self) -> None: ...


class Processes:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self._pool = ProcessPool(count)

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        return [self._pool.submit(function, *job) for job in jobs]

    def stop(self) -> None:
        self._pool.stop()


class Cluster:
    """A Dask cluster; it gives the jobs of a dead worker to another by itself.

    Functions and jobs travel as bytes: the scheduler need not be able to import them.
    """

    def __init__(self, address: str) -> None:
        self._client = dask_client(address)
        self._futures: list[Any] = []

    def submit_all(self, function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        import cloudpickle

        executor, packed = self._client.get_executor(pure=False), cloudpickle.dumps(function)
        self._futures = [executor.submit(_unpacked, packed, cloudpickle.dumps(job)) for job in jobs]
        return self._futures

    def stop(self) -> None:
        for future in self._futures:
            future.cancel()
        self._client.close()


def _unpacked(function: bytes, job: bytes) -> Any:
    """Do a job where it arrived."""
    import cloudpickle

    return cloudpickle.loads(function)(*cloudpickle.loads(job))
