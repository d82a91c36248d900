"""A Dask cluster: workers that come and go, on machines that may not be like this one.

The scheduler sees only bytes, which only a worker unpacks. A worker that cannot import the
simulator, or has another copy of it, says so, and the run ends with a sentence that names it.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from surefoot.errors import InputError, Unavailable
from surefoot.study.file.storage import Running
from surefoot.study.programs.functions import Modules, modules_of
from surefoot.study.pull import Pull, Simulate
from surefoot.study.run.executors import Workers
from surefoot.study.run.worker import UnfitWorker, run_packed, versions

REFRESH = 2.0  # seconds between questions to the scheduler
PATIENCE = 10.0  # seconds without a worker, before that is said


class _ClusterLost(Unavailable):
    """The scheduler is gone. Everything that came back is stored."""


class DaskWorkers(Workers):
    """The workers of a Dask cluster. It moves pulls from dead workers to living ones by itself."""

    def __init__(self, client: Any) -> None:
        super().__init__(client.get_executor(pure=False))
        self._client, self._size, self._looked = client, 1, -REFRESH
        self._address: str = client.scheduler.address
        self._keys: dict[Any, str] = {}
        self._simulator: tuple[Any, Modules, bytes] | None = None
        # by key whose turn it is: the worker, and when that was first seen
        self._turns: dict[str, tuple[str, float]] = {}
        self._orphans: set[str] = set()  # keys whose worker went while it had them
        self._last_seen = time.monotonic()

    one_at_a_time = False
    grows = True

    @property
    def size(self) -> int:
        return self._size

    @property
    def ready(self) -> bool:
        """True if the scheduler answers. Raises if it has not for long, so that it never will."""
        if self._client.status in ("closing", "closed"):
            raise _ClusterLost(
                f"the Dask scheduler at {self._address} is gone; every reward "
                "that came back is stored. Start it and its workers, then run the study again to "
                "go on"
            )
        connected: bool = self._client.status == "running"
        if connected and time.monotonic() - self._looked >= REFRESH:
            self._look()
        return connected

    @property
    def trouble(self) -> str | None:
        if self._client.status == "connecting":
            return "the Dask scheduler does not answer"
        alone = time.monotonic() - self._last_seen
        if alone < PATIENCE:
            return None
        return f"no Dask worker for {alone:.0f} s: start some with `dask worker {self._address}`"

    def submit(
        self,
        function: Callable[..., Any],
        simulator: Simulate,
        chunk: list[Pull],
    ) -> Any:
        parcel = pickle.dumps(_Parcel(*self._packed(simulator), pickle.dumps(chunk)))
        key = f"surefoot-{uuid.uuid4()}"
        # unpacking the parcel is doing the work: the scheduler need not know any of our functions
        future = self._executor.submit(pickle.loads, parcel, key=key)
        self._keys[future] = key
        future.add_done_callback(self._keys.pop)
        return future

    def running(self, flying: Mapping[Any, tuple[list[Pull], float]]) -> list[Running]:
        found = []
        for future, (chunk, _) in flying.items():
            turn = self._turns.get(self._keys.get(future, ""))
            if turn is not None:
                worker, since = turn
                found.append(Running(chunk[0].id, since, worker))
        return found

    def moved(self, flying: Mapping[Any, tuple[list[Pull], float]]) -> list[Pull]:
        if not self._orphans:
            return []
        orphans, self._orphans = self._orphans, set()
        chunks = [
            chunk for future, (chunk, _) in flying.items() if self._keys.get(future) in orphans
        ]
        return [pull for chunk in chunks for pull in chunk]

    def refusal(self, error: BaseException | None) -> InputError | None:
        if isinstance(error, UnfitWorker):
            return error
        if isinstance(error, AttributeError | ImportError) and "surefoot" in str(error):
            return UnfitWorker(
                f"a worker has another surefoot than {versions()['surefoot']} ({error}); there is "
                f"{self._installed()}: install the same version on all machines"
            )
        return None

    def _installed(self) -> str:
        found = self._client.get_versions(packages=["surefoot"])["workers"]
        return ", ".join(
            f"surefoot {known['packages'].get('surefoot')} at {address}"
            for address, known in found.items()
        )

    def cancel(self, future: Any) -> bool:
        return False  # Dask cannot tell which pulls have begun, and would throw away running ones

    def _packed(self, simulator: Simulate) -> tuple[Modules, bytes]:
        if self._simulator is None or self._simulator[0] is not simulator:
            import cloudpickle

            self._simulator = (simulator, modules_of(simulator), cloudpickle.dumps(simulator))
        return self._simulator[1:]

    def _look(self) -> None:
        """Ask the scheduler for its workers and their tasks."""
        self._looked = time.monotonic()
        try:
            there = self._client.nthreads()
            processing: dict[str, Any] = self._client.processing()
        except OSError:  # the connection broke meanwhile: its status will say so
            return
        threads = sum(there.values())
        self._size = max(1, threads)
        self._orphans |= {key for key, (worker, _) in self._turns.items() if worker not in there}
        sent = {key: place for place, key in enumerate(list(self._keys.values()))}
        turns = {
            key: (worker, time.time())
            for worker, keys in processing.items()
            for key in sorted(sent.keys() & keys, key=sent.__getitem__)[: there.get(worker, 1)]
        }
        for key, (worker, since) in self._turns.items():
            if key in turns and turns[key][0] == worker:
                turns[key] = (worker, since)
        self._turns = turns
        if threads:
            self._last_seen = time.monotonic()


class _Parcel:
    """A call of `run_packed` that takes place where it is unpickled."""

    def __init__(self, modules: Modules, simulator: bytes, pulls: bytes) -> None:
        self._arguments = (versions(), modules, simulator, pulls)

    def __reduce__(self) -> tuple[Any, ...]:
        return run_packed, self._arguments
