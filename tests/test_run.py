"""`surefoot run` as a process: interrupted at any moment, and in any locale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from surefoot.interrupts import EXIT_CODE
from surefoot.study import StudyReader
from tests.commands_in_processes import Command, Ending, busy_machine, told

MOMENTS, AT_A_TIME = 30, 3
RUN = ("run", "study.toml", "--quiet", "--processes", "2")
STUDY = """
delta = 0.05
seed = 1
budget = 2000
name = "Größe θ"
features = "tabular"
algorithm = "robust-static"
noise = { kind = "gaussian", scale = 30.0 }
arms.list = [{ name = "süß", dose = 1.0 }, { name = "groß", dose = 3.0 }]
simulator.python = "model:simulate"
"""
MODEL = """
import time

def simulate(pull):
    time.sleep(0.02)
    return pull.parameters["dose"] + 30.0 * pull.rng().normal()
"""


def study_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "model.py").write_text(MODEL)
    return folder


def test_it_can_be_interrupted_at_any_moment_of_its_start(tmp_path: Path) -> None:
    """From the first instruction until rewards come in, with two busy processes beside."""
    folders = [study_in(tmp_path / str(number)) for number in range(AT_A_TIME + MOMENTS)]
    with busy_machine(), ThreadPoolExecutor(AT_A_TIME) as pool:
        start_up = max(pool.map(seconds_until_a_reward, folders[:AT_A_TIME]))
        shares = (np.arange(MOMENTS) + np.random.default_rng(0).random(MOMENTS)) / MOMENTS
        moments = np.random.default_rng(1).permutation(start_up * shares)
        endings = list(pool.map(interrupted_after, folders[AT_A_TIME:], moments))
    assert [ending for ending in endings if not is_right(ending)] == []
    for folder in folders:
        assert (folder / "study.toml").read_text(encoding="utf-8") == STUDY
        if (folder / "study.db").exists():
            with StudyReader(folder / "study.db") as reader:
                assert reader.status().state == "running"


def is_right(ending: Ending) -> bool:
    sentence = (
        r"surefoot: (interrupted.*the same command goes on"
        r"|stopped after \d+ pulls; run the study again to go on \(`surefoot run study.toml`\))\n"
    )
    said = re.fullmatch(sentence, ending.words) is not None
    return said and ending.code == EXIT_CODE and ending.seconds < 2.0


def seconds_until_a_reward(folder: Path) -> float:
    return Command(folder, *RUN).seconds_until(lambda: told(folder) > 0)


def interrupted_after(folder: Path, seconds: float) -> Ending:
    return Command(folder, *RUN).at(seconds).interrupt()


def surefoot(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "surefoot", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_runs_where_the_locale_knows_nothing_but_ascii(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "ascii")
    (folder / "study.toml").write_text(STUDY.replace("2000", "4"), encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = surefoot(folder, *RUN, PYTHONIOENCODING="ascii:strict", **plain)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "s\\xfc\\xdf" in ended.stdout or "gro\\xdf" in ended.stdout
    status = surefoot(folder, "status", PYTHONIOENCODING="ascii:strict", **plain)
    assert (status.returncode, status.stderr) == (0, "")


def test_a_place_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    ended = surefoot(tmp_path, "init", "/proc/no-such-process/study.toml")
    assert ended.returncode == 2
    assert ended.stderr.startswith("surefoot: ")
    assert "Traceback" not in ended.stderr
