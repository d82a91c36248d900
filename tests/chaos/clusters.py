"""A Dask cluster whose workers and scheduler are killed while a study of any kind runs on it: the
study ends as it would have here, at once or after it is run again. And one that adapts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from distributed import LocalCluster

from surefoot.study import Pull, StudyReader
from surefoot.study.toml.config import StudyConfig
from tests.chaos.trial import Trial
from tests.study.cluster import ROOT, Cluster
from tests.study.toys import linear, same_result, toy_study

ASKED = """
delta = 0.05
seed = 5
budget = 400
simulator.python = "tests.chaos.clusters:simulate_slowly"
"""
KINDS = {
    "plain": 'algorithm = "uniform"\nnoise = { kind = "gaussian", scale = 100.0 }\n'
    "arms.grid = { dose = [1.0, 3.0] }",
    "common random numbers": "common_random_numbers = true\narms.grid = { dose = [1.0, 1.01] }\n"
    'perturbations.list = [{ name = "none" }, { name = "less", dose = -0.01 }]',
    "bounded": 'noise = { kind = "bounded", low = -9, high = 9 }\n'
    "arms.grid = { dose = [1.0, 1.01] }",
    "categories": 'arms.list = [{ dose = 1.0, kind = "fancy" }, { dose = 1.01, kind = "odd" }]\n'
    'perturbations.list = [{ name = "none" }, { name = "worn", kind = "plain" }]',
}
ENDS = ("BUDGET", "IDENTIFIED")
WAIT = 300.0  # seconds for anything, on a machine that is busy


def simulate(pull: object) -> float:
    values = pull.parameters  # type: ignore[attr-defined]
    # a part of its own, so that no difference is sure under shared streams
    own = np.random.default_rng(pull.id).normal()  # type: ignore[attr-defined]
    noise = np.clip(pull.rng().normal() + own, -7, 7)  # type: ignore[attr-defined]
    return float(values["dose"] + 0.001 * (values.get("kind") == "fancy") + noise)


def simulate_slowly(pull: object) -> float:
    time.sleep(0.02)
    return simulate(pull)


def clusters(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """A worker is killed and another takes its place, for a study of each kind; in every third
    trial the scheduler is killed.
    """
    for number in range(count):
        kind = list(KINDS)[(number - number // 3) % len(KINDS)]
        calm, own = _study(folder / f"calm-{number}", kind), _study(folder / f"own-{number}", kind)
        expected = _rewards_at_the_end(calm)
        told = int(generator.integers(1, 200))
        lost, harm = (
            ("the scheduler", _scheduler_killed)
            if number % 3 == 2
            else ("a worker", _worker_killed)
        )
        broken = harm(own, told)
        if not broken and _rewards_at_the_end(own) != expected:
            broken = "another end"
        yield Trial(f"{kind}: {lost} killed after {told} pulls", broken)
    yield Trial("a cluster that adapts", _does_not_grow(folder))


class _Together:
    """Pulls that wait until three run at the same time."""

    running = 0
    changed = threading.Condition()

    @classmethod
    def simulate(cls, pull: Pull) -> float:
        with cls.changed:
            cls.running += 1
            cls.changed.notify_all()
            assert cls.changed.wait_for(lambda: cls.running >= 3, WAIT), "it did not grow"
        return linear(pull)


def _does_not_grow(folder: Path) -> str | None:
    """Run a study on a cluster that has no worker until pulls wait."""
    local = LocalCluster(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, toy_study(folder / "adaptive.db", rounds=1) as study:
        cluster.adapt(minimum=0, maximum=3, interval="100ms", target_duration="10ms")
        with cluster.get_client() as client:
            result = study.run(_Together.simulate, client)
    with toy_study(folder / "still.db", rounds=1) as still:
        same = same_result(result, still.run(linear, "serial"))
    return None if same else "another end"


def _study(folder: Path, kind: str) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(ASKED + KINDS[kind])
    return folder


def _rewards_at_the_end(folder: Path) -> list[tuple[int, int, float]]:
    """All rewards of the study, which goes on to its end here if it has not come to it."""
    with StudyConfig(folder / "study.toml").open_study() as study:
        study.run(simulate, "serial")
    with StudyReader(folder / "study.db") as reader:
        table = reader.pulls()[["id", "pair", "reward"]]
    return list(table.itertuples(index=False, name=None))


def _worker_killed(folder: Path, told: int) -> str | None:
    with Cluster(folder) as cluster, _Driver(folder, cluster.address) as driver:
        if not driver.has_told(told):
            return f"no pulls came: {driver.said}"
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        cluster.add_worker()
        code = driver.ends()
    if code is None:
        return "the study did not go on"
    if code:
        return f"exit code {code}: {driver.said}"
    return None if any(end in driver.said for end in ENDS) else f"another end: {driver.said}"


def _scheduler_killed(folder: Path, told: int) -> str | None:
    with Cluster(folder) as cluster, _Driver(folder, cluster.address) as driver:
        if not driver.has_told(told):
            return f"no pulls came: {driver.said}"
        os.kill(cluster.scheduler.pid, signal.SIGKILL)
        code = driver.ends()
    if code is None:
        return "the driver waits for ever"
    if "Traceback" in driver.said:
        return f"a traceback: {driver.said}"
    if code == 0 or "surefoot:" not in driver.said:
        return f"no sentence, exit code {code}: {driver.said}"
    return None if driver.told >= told else "rewards were lost"


class _Driver:
    """`surefoot run` on a cluster."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder, self._log = folder, folder / "driver.log"
        program = [sys.executable, "-c", "from surefoot.cli import main; main()"]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*program, "run", "study.toml", "--dask", address],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": paths},
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> _Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def said(self) -> str:
        return self._log.read_text()[-1500:]

    @property
    def told(self) -> int:
        if not (self._folder / "study.db").exists():
            return 0
        with StudyReader(self._folder / "study.db") as reader:
            return reader.status().told

    def has_told(self, wanted: int) -> bool:
        """Whether so many rewards have come, sooner or later."""
        end = time.monotonic() + WAIT
        while self.told < wanted and time.monotonic() < end and self._process.poll() is None:
            time.sleep(0.05)
        return self.told >= wanted

    def ends(self) -> int | None:
        """The exit code; None if it does not end."""
        try:
            return self._process.wait(timeout=WAIT)
        except subprocess.TimeoutExpired:
            return None
