"""The driver is killed at random moments, and its last writes are torn: the study ends as if
nothing had happened.
"""

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
import pytest

from surefoot.algorithms import Result
from tests.study import toys
from tests.study.killed import ROUNDS, SIZE
from tests.study.toys import open_toy, rewards_of, same_result, toy_study

KILLS = 30  # each followed by a torn write

# Loads everything once; then each line it reads starts a driver in a process of its own, whose
# number it prints.
NURSERY = """
import os, sys, tempfile
from pathlib import Path
from tests.study.killed import KINDS
kind = KINDS[sys.argv[2]]
with tempfile.TemporaryDirectory() as folder, kind.create(Path(folder) / "toy.db") as study:
    study.run(kind.simulate, "serial")  # compiled code is loaded now, not in each driver
for _ in sys.stdin:
    driver = os.fork()
    if driver == 0:
        os.setsid()
        with kind.open(Path(sys.argv[1])) as study:
            study.run(kind.slowly, 2)
        os._exit(0)
    print(driver, flush=True)
    _, status = os.waitpid(driver, 0)
    print(status, flush=True)
"""


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Result, list[tuple[int, int, float]]]:
    path = tmp_path_factory.mktemp("undisturbed") / "toy.db"
    with toy_study(path, ROUNDS, SIZE) as study:
        return study.run(toys.linear, "serial"), rewards_of(path)


class Nursery:
    """Starts drivers."""

    def __init__(self, path: Path, kind: str = "plain") -> None:
        self._path = path
        command = [sys.executable, "-c", NURSERY, str(path), kind]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run_and_kill(self, new: int, seconds: float) -> bool:
        """Let a driver store some rewards, then work for a while, then kill it.

        False if it was done by then.
        """
        wanted = stored(self._path) + new
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        driver = int(self._process.stdout.readline())
        while stored(self._path) < wanted:  # a busy machine takes seconds to begin
            time.sleep(0.01)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(driver, signal.SIGKILL)
        return os.WIFSIGNALED(int(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def stored(path: Path) -> int:
    """How many rewards the file holds."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return int(file.execute("SELECT count(reward) FROM pulls").fetchone()[0])


def stored_prefix(path: Path, expected: list[tuple[int, int, float]]) -> int:
    """How many rewards the file holds; each must be the one of the undisturbed run."""
    rows = [row for row in rewards_of(path) if row[2] == row[2]]
    assert set(rows) <= set(expected)
    return len(rows)


def test_thirty_kills_and_thirty_torn_writes(
    tmp_path: Path, undisturbed: tuple[Result, list[tuple[int, int, float]]]
) -> None:
    expected, rewards = undisturbed
    generator = np.random.default_rng(2024)
    path = tmp_path / "toy.db"
    toy_study(path, ROUNDS, SIZE).close()
    counts, kills = [0], 0
    nursery = Nursery(path)
    try:
        for number in range(KILLS):
            new = int(generator.integers(1, 8)) if number % 2 else 0  # else while it begins
            kills += nursery.run_and_kill(new, generator.uniform(0.0, 0.3))
            counts.append(stored_prefix(path, rewards))
            tear(path, tmp_path / "torn", generator, undisturbed)
    finally:
        nursery.close()
    assert counts == sorted(counts), "a reward that was on disk was lost"
    assert kills == KILLS, "every kill fell while the study was running"
    assert len(set(counts)) > 5, "the study went on between the kills"
    with open_toy(path, ROUNDS, SIZE) as study:
        assert same_result(study.run(toys.linear, "serial"), expected)
    assert rewards_of(path) == rewards


def tear(
    path: Path,
    folder: Path,
    generator: np.random.Generator,
    undisturbed: tuple[Result, list[tuple[int, int, float]]],
) -> None:
    """Cut a copy of the WAL at a random length, as a power cut may, and finish the study from
    there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy = folder / path.name
    shutil.copy(path, copy)
    wal = path.with_name(path.name + "-wal")
    if wal.exists():
        content = wal.read_bytes()
        copy.with_name(wal.name).write_bytes(content[: generator.integers(len(content) + 1)])
    with open_toy(copy, ROUNDS, SIZE) as study:
        assert same_result(study.run(toys.linear, "threads"), undisturbed[0])
    assert rewards_of(copy) == undisturbed[1]
