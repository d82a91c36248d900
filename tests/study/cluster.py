"""A real Dask cluster for tests: scheduler and workers are processes on loopback, each ended by its
number.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "src"


class Cluster:
    """One scheduler, which can import nothing of ours but surefoot, and some workers.

    Attributes:
        address: of the scheduler, on a free port.
        workers: the processes of the workers.
        scheduler: its process.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder, self._processes, self._logs = folder, [], []
        self.scheduler = self._start(
            [SOURCES],
            "scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter"),
        )
        self.address = self._address_in(self.scheduler)
        self.workers = [self.add_worker() for _ in range(workers)]

    _processes: list[subprocess.Popen[bytes]]
    _logs: list[IO[bytes]]

    def add_worker(
        self, *more: str, paths: Sequence[Path] = (SOURCES, ROOT), folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        options = (
            *("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--local-directory", str(self._folder)),
        )
        worker = self._start(paths, "worker", self.address, *options, *more, folder=folder)
        if hasattr(self, "workers"):
            self.workers.append(worker)
        return worker

    def dismiss(self) -> None:
        """Kill all workers, and wait until the scheduler knows."""
        with self.client() as client:
            for worker in self.workers:
                worker.kill()
            self.workers = []
            wait_for(lambda: not client.scheduler_info()["workers"])

    def client(self) -> Any:
        from distributed import Client

        client = Client(self.address, set_as_default=False)
        if living := sum(worker.poll() is None for worker in self.workers):
            client.wait_for_workers(living, timeout=PATIENCE)
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        for log in self._logs:
            log.close()

    def _start(
        self, paths: Sequence[Path], role: str, *options: str, folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{role}-{len(self._processes)}.log").open("wb")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "info",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", role, *options],
            stdout=log,
            stderr=log,
            cwd=folder or self._folder,
            env=environment,
        )
        self._processes.append(process)
        self._logs.append(log)
        return process

    def _address_in(self, scheduler: subprocess.Popen[bytes]) -> str:
        log = self._folder / "scheduler-0.log"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and scheduler.poll() is None:
            found = re.search(r"tcp://127\.0\.0\.1:\d+", log.read_text())
            if found:
                return found[0]
            time.sleep(0.05)
        self.__exit__()  # nobody else would end it
        raise RuntimeError(f"the scheduler did not start: {log.read_text()}")
