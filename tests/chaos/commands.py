"""Commands and sessions that simulate whole studies are killed at a random moment: no process
stays, the study is as it was, and the same command gives the same answer as if nothing had
happened.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from tests.chaos.signals import SIMULATOR
from tests.chaos.trial import Trial
from tests.commands_in_processes import PROGRAM, Command
from tests.waiting import PATIENCE

STUDY = """
delta = 0.05
seed = 5
arms.grid = { dose = [1.0, 3.0, 5.0] }
simulator.python = "slow:simulate"
"""
OF_STUDIES = {
    "macroreplicate": ("--runs", "30", "--seed", "1", "-o", "runs.csv", "-q", "--processes", "2"),
    "plan": ("--gap", "1.0", "--runs", "30", "-q"),
    "pilot": ("--pairs", "3", "--pulls", "40", "-o", "pilot.json"),
}
COMMANDS = {name: (name, "study.toml", *more) for name, more in OF_STUDIES.items()} | {
    "reproduce": (
        *("reproduce", "unit-sphere", "--sizes", "5", "--runs", "4", "--prime", "4"),
        *("--seed", "1", "--processes", "2", "-q", "--out", "."),
    ),
    "compare": (),
}
OUTPUTS = {"macroreplicate": "runs.csv", "reproduce": "unit-sphere.csv", "compare": "runs.csv"}
COMPARE = """
import sys
from pathlib import Path
import surefoot as sf
from surefoot.experiments.instances import unit_sphere

if __name__ == "__main__":
    print("begun", flush=True)
    with sf.Session(runs=30, seed=1, out=Path("."), processes=2) as session:
        found = sf.compare(["prime", "robust-rage"], {"five": unit_sphere(5)}, session=session)
    found.runs.drop(columns="seconds").to_csv("runs.csv")
"""
PROGRAMS = {"compare": COMPARE}
FAILED = b"it failed: "
WAIT = 600.0  # seconds for a command, on a machine that is busy


def commands_killed(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Kill each of the commands in its turn."""
    expected: dict[str, bytes | None] = {}
    for number in range(count):
        name = list(COMMANDS)[number % len(COMMANDS)]
        if name not in expected:
            expected[name] = _finished(_study(folder / f"calm-{name}"), name)
        own = _study(folder / str(number))
        before = _content(own)
        command = Command(own, *COMMANDS[name], content=PROGRAMS.get(name, PROGRAM))
        seconds = float(generator.uniform(0.0, 12.0))
        children = _killed(command.at(seconds).pid)
        _, alive = psutil.wait_procs(children, PATIENCE)
        broken = None
        if {path: text for path, text in _content(own).items() if path in before} != before:
            broken = "the study or its configuration was changed"
        elif alive:
            broken = f"{len(alive)} processes stayed"
        elif (expected[name] or b"").startswith(FAILED):
            broken = str(expected[name])
        elif _finished(own, name) != expected[name]:
            broken = "another answer when it was run again"
        yield Trial(f"{name} killed after {seconds:.1f} s", broken)


def _killed(pid: int) -> list[psutil.Process]:
    """Kill a driver, and return the processes that it had."""
    try:
        children = psutil.Process(pid).children(recursive=True)
        os.kill(pid, signal.SIGKILL)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return []
    return children


def _study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    (folder / "slow.py").write_text(SIMULATOR.replace("time.sleep(0.01)", "time.sleep(0.001)"))
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _finished(folder: Path, name: str) -> bytes | None:
    """Run a command to its end, and return what it wrote that no clock decides."""
    (folder / "surefoot_command.py").write_text(PROGRAMS.get(name, PROGRAM))
    words = [sys.executable, "surefoot_command.py", *COMMANDS[name]]
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=WAIT, check=False)
    if done.returncode:
        return FAILED + done.stderr
    output = OUTPUTS.get(name)
    return (folder / output).read_bytes() if output else None
