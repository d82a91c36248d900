"""`surefoot run` as a process: in any locale, and where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

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


def surefoot(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "surefoot", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
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
