"""`surefoot run` is sent a signal at a random moment of its start: it ends at once, says how to go
on, and loses nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.errors import InputError
from surefoot.study import StudyReader
from tests.chaos.trial import Trial

CONFIGURATION = """
delta = 0.05
noise = { kind = "gaussian", scale = 1000.0 }
arms.grid = { dose = [1.0, 3.0, 5.0] }
algorithm = "uniform"
simulator.python = "slow:simulate"
"""
SIMULATOR = """
import time

def simulate(pull):
    time.sleep(0.01)
    return pull.parameters["dose"] + pull.rng().normal()
"""
PATIENCE = 10.0  # seconds from the signal to the end, on a machine that is busy
COMMAND = [sys.executable, "-c", "from surefoot.cli import main; main()", "run", "study.toml"]


@dataclass(frozen=True)
class Signals:
    """Each trial is one signal.

    Attributes:
        latest: seconds after the start.
    """

    latest: float

    def __call__(self, count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
        (folder / "study.toml").write_text(CONFIGURATION)
        (folder / "slow.py").write_text(SIMULATOR)
        for number in range(count):
            sent = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP][number % 3]
            seconds = float(generator.uniform(0.0, self.latest))
            yield Trial(f"{sent.name} after {seconds:.2f} s", _interrupted(folder, sent, seconds))


def _interrupted(folder: Path, sent: signal.Signals, seconds: float) -> str | None:
    before = _told(folder)
    process = subprocess.Popen(
        COMMAND,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        time.sleep(seconds)
        os.kill(process.pid, sent)
        _, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"it still ran {PATIENCE:g} s after the signal"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    if "Traceback" in errors:
        return f"a traceback: {errors[-800:]}"
    if process.returncode == 0:
        return "it went on to a normal end"
    if _told(folder) < before:
        return "rewards were lost"
    return None


def _told(folder: Path) -> int:
    path = folder / "study.db"
    if not path.exists():
        return 0
    with contextlib.suppress(InputError), StudyReader(path) as reader:
        return reader.status().told
    return 0
