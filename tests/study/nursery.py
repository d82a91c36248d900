"""Drivers that are killed: started quickly, ended at a chosen moment, their last writes torn."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

# Loads everything once; then each line it reads starts a driver in a process of its own, whose
# number it prints. Its workers are fresh processes, or copies of the driver that are there at once.
NURSERY = """
import os, sys, tempfile
from pathlib import Path
from surefoot.system.processes import ProcessPool
from tests.study.killed import KINDS
kind = KINDS[sys.argv[2]]
with tempfile.TemporaryDirectory() as folder, kind.create(Path(folder) / "toy.db") as study:
    study.run(kind.simulate, "serial")  # compiled code is loaded now, not in each driver
for workers in sys.stdin:
    driver = os.fork()
    if driver == 0:
        os.setsid()
        with kind.open(Path(sys.argv[1])) as study:
            study.run(kind.slowly, 2 if workers.strip() == "fresh" else ProcessPool(2, "fork"))
        os._exit(0)
    print(driver, flush=True)
    _, status = os.waitpid(driver, 0)
    print(status, flush=True)
"""


class Nursery:
    """Starts drivers, one after the other."""

    def __init__(self, path: Path, kind: str = "plain") -> None:
        self._path, self._driver = path, 0
        command = [sys.executable, "-c", NURSERY, str(path), kind]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run_and_kill(self, new: int, seconds: float) -> bool:
        """Let a driver store some rewards, then work for a while, then kill it.

        False if it was done by then.
        """
        wanted = stored(self._path) + new
        self.begin("fresh")
        self.wait_until(wanted)
        time.sleep(seconds)
        return self.kill()

    def begin(self, workers: str) -> None:
        """Start a driver; its workers are "fresh" or "copied"."""
        self._tell(workers)
        self._driver = int(self._answer())

    def wait_until(self, wanted: int) -> None:
        """Wait for this many stored rewards, or for the driver's end."""
        while stored(self._path) < wanted and self._is_running():
            time.sleep(0.01)  # a busy machine takes seconds to begin

    def kill_a_worker(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._driver).children()
            workers = [one for one in children if "resource_tracker" not in str(one.cmdline())]
            if workers:
                workers[0].kill()

    def kill(self) -> bool:
        """Kill the driver; False if it had ended by then."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._driver, signal.SIGKILL)
        return os.WIFSIGNALED(int(self._answer()))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _is_running(self) -> bool:
        try:
            return psutil.Process(self._driver).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def _tell(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def stored(path: Path) -> int:
    """How many rewards the file holds."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return int(file.execute("SELECT count(reward) FROM pulls").fetchone()[0])


def torn_copy(path: Path, folder: Path, generator: np.random.Generator) -> Path:
    """A copy of a study whose log is cut at a random length, as a power cut may do."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy, log = folder / path.name, path.with_name(path.name + "-wal")
    shutil.copy(path, copy)
    if log.exists():
        content = log.read_bytes()
        copy.with_name(log.name).write_bytes(content[: generator.integers(len(content) + 1)])
    return copy
