"""A folder that cannot be written to: one sentence from every command that would write there."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import surefoot as sf

DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24  # what lets the superuser write anywhere; and its removal
COMMAND = [sys.executable, "-c", "from surefoot.cli import main; main()"]


def as_anybody() -> None:
    """The program that follows is refused what the permissions of a file refuse."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("read-only")
    noise, pairs = sf.Gaussian(1.0), [[1.0, 0.0], [0.0, 1.0]]
    problem = sf.RobustProblem.from_pairs(pairs, [0, 1])
    sf.Study.create(place / "toy.db", problem, "uniform", delta=0.1, noise=noise).close()
    subprocess.run([*COMMAND, "init", str(place / "study.toml")], check=True, capture_output=True)
    place.chmod(0o555)
    yield place
    place.chmod(0o755)


@pytest.mark.parametrize(
    "arguments",
    [
        ["init", "other.toml"],
        ["run", "study.toml"],
        ["export", "toy.db"],
        ["export", "toy.db", "-o", "pulls.json"],
        ["report", "toy.db"],
        ["backup", "toy.db", "copy.db"],
    ],
    ids=" ".join,
)
def test_it_is_said_in_one_sentence(folder: Path, arguments: list[str]) -> None:
    before = sorted(file.name for file in folder.iterdir())
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, preexec_fn=as_anybody, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("surefoot: ")
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert sorted(file.name for file in folder.iterdir()) == before
