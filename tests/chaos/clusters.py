"""A Dask cluster whose workers and scheduler are killed while a study runs on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from surefoot.study import StudyReader
from tests.chaos.trial import Trial
from tests.study.cluster import ROOT, Cluster

CONFIGURATION = """
delta = 0.05
noise = { kind = "gaussian", scale = 100.0 }
arms.grid = { dose = [1.0, 3.0] }
seed = 5
budget = 400
algorithm = "uniform"
simulator.python = "tests.chaos.clusters:simulate"
"""
WAIT = 300.0  # seconds for anything, on a machine that is busy


def simulate(pull: object) -> float:
    time.sleep(0.02)
    return float(pull.parameters["dose"] + pull.rng().normal())  # type: ignore[attr-defined]


def clusters(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """In turn: a worker is killed and another takes its place; the scheduler is killed."""
    for number in range(count):
        own = folder / f"cluster-{number}"
        own.mkdir()
        (own / "study.toml").write_text(CONFIGURATION)
        told = int(generator.integers(1, 200))
        if number % 2 == 0:
            yield Trial(f"a worker killed after {told} pulls", _worker_killed(own, told))
        else:
            yield Trial(f"the scheduler killed after {told} pulls", _scheduler_killed(own, told))


def _worker_killed(folder: Path, told: int) -> str | None:
    with Cluster(folder) as cluster:
        driver = _driver(folder, cluster.address)
        try:
            if not _wait_for(folder, told, driver):
                return f"no pulls came: {_said(driver)}"
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            cluster.add_worker()
            driver.wait(timeout=WAIT)
        except subprocess.TimeoutExpired:
            return "the study did not go on"
        finally:
            driver.kill()
        said = _said(driver)
    if driver.returncode:
        return f"exit code {driver.returncode}: {said}"
    return None if "BUDGET" in said else f"another end: {said}"


def _scheduler_killed(folder: Path, told: int) -> str | None:
    with Cluster(folder) as cluster:
        driver = _driver(folder, cluster.address)
        try:
            if not _wait_for(folder, told, driver):
                return f"no pulls came: {_said(driver)}"
            os.kill(cluster.scheduler.pid, signal.SIGKILL)
            driver.wait(timeout=WAIT)
        except subprocess.TimeoutExpired:
            return "the driver waits for ever"
        finally:
            driver.kill()
        said = _said(driver)
    if "Traceback" in said:
        return f"a traceback: {said}"
    if driver.returncode == 0 or "surefoot:" not in said:
        return f"no sentence, exit code {driver.returncode}: {said}"
    return None if _told(folder) >= told else "rewards were lost"


def _driver(folder: Path, address: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from surefoot.cli import main; main()", "run", "study.toml"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--dask", address],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": paths},
            stdout=log,
            stderr=log,
        )
    process.args = [str(folder / "driver.log")]
    return process


def _said(driver: subprocess.Popen[bytes]) -> str:
    assert isinstance(driver.args, list)
    return Path(str(driver.args[0])).read_text()[-1500:]


def _wait_for(folder: Path, told: int, driver: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + WAIT
    while time.monotonic() < end and driver.poll() is None:
        if _told(folder) >= told:
            return True
        time.sleep(0.05)
    return _told(folder) >= told


def _told(folder: Path) -> int:
    if not (folder / "study.db").exists():
        return 0
    with StudyReader(folder / "study.db") as reader:
        return reader.status().told
