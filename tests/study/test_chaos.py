"""The driver is killed at random moments, and its last writes are torn: the study ends as if nothing had happened."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from surefoot.algorithms import Result
from tests.study import toys
from tests.study.toys import open_toy, rewards_of, same_result, toy_study

KILLS, TEARS = 30, 30
ROUNDS, SIZE = 12, 4

DRIVER = f"""
import os, sys
from pathlib import Path
from tests.study.toys import Rounds, open_toy, slow
print("loaded", flush=True)
sys.stdin.readline()
with open_toy(Path(sys.argv[1]), {ROUNDS}, {SIZE}) as study:
    study.run(slow, 2)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[tuple[int, int, float]]]:
    path = tmp_path_factory.mktemp("undisturbed") / "toy.db"
    with toy_study(path, ROUNDS, SIZE) as study:
        return study.run(toys.linear, "serial"), rewards_of(path)


def start_driver(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def let_go(process: subprocess.Popen[str]) -> None:
    """Its imports are done: the clock starts when the study does."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "loaded\n"
    process.stdin.write("\n")
    process.stdin.flush()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def stored_prefix(path: Path, expected: list[tuple[int, int, float]]) -> int:
    """How many rewards the file holds; each must be the one of the undisturbed run."""
    rows = [row for row in rewards_of(path) if row[2] == row[2]]
    assert set(rows) <= set(expected)
    return len(rows)


def test_thirty_kills_and_thirty_torn_writes(tmp_path: Path, undisturbed: tuple[Result, list[tuple[int, int, float]]]) -> None:
    expected, rewards = undisturbed
    generator = np.random.default_rng(2024)
    path = tmp_path / "toy.db"
    toy_study(path, ROUNDS, SIZE).close()
    counts, kills = [0], 0
    waiting = start_driver(path)
    for kill in range(KILLS):
        process, waiting = waiting, start_driver(path)  # the next one loads while this one works
        let_go(process)
        time.sleep(generator.uniform(0.0, 0.35))
        kills += process.poll() is None
        end(process)
        if kill < TEARS:
            tear(path, tmp_path / "torn", generator, undisturbed)
        counts.append(stored_prefix(path, rewards))
    end(waiting)
    assert counts == sorted(counts), "a reward that was on disk was lost"
    assert 0 < counts[KILLS // 2] < expected.samples, "the kills fell while the study was running"
    with open_toy(path, ROUNDS, SIZE) as study:
        assert same_result(study.run(toys.linear, "serial"), expected)
    assert rewards_of(path) == rewards


def tear(path: Path, folder: Path, generator: np.random.Generator, undisturbed: tuple[Result, list[tuple[int, int, float]]]) -> None:
    """Cut a copy of the WAL at a random length, as a power cut may, and finish the study from there."""
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
