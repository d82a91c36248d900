"""A Dask cluster with workers that are not fit, that are not there, and a scheduler that goes."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from distributed import LocalCluster

from surefoot.errors import InputError
from surefoot.study.run.executors import dask_client
from tests.study import toys
from tests.study.cluster import SOURCES, Cluster
from tests.study.toys import MARK, Listener, same_result, toy_study
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[3]
OLDER = "import surefoot; surefoot.__version__ = '0.0.9'"
OTHER_NUMPY = "import surefoot.study.run.worker, numpy; numpy.__version__ = '9.9.9'"
OLDEST = "import surefoot.study.run.worker as own; vars(own).pop('run_packed', None)"


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), workers=0) as cluster:
        yield cluster


@pytest.fixture
def cluster(scheduled: Cluster) -> Iterator[Cluster]:
    """A cluster without workers; those that the test adds are gone before the next."""
    yield scheduled
    scheduled.dismiss()


MODEL = """
from scale import UNIT

def simulate(pull):
    return UNIT * pull.parameters["a"] + pull.rng().normal()
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A simulator's module in a folder, as loaded by the driver."""
    write_model(tmp_path / "home", "1.0")
    monkeypatch.syspath_prepend(tmp_path / "home")
    yield importlib.import_module("model")
    for name in ("model", "scale"):
        sys.modules.pop(name, None)


def write_model(folder: Path, unit: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "model.py").write_text(MODEL)
    (folder / "scale.py").write_text(f"UNIT = {unit}\n")


def test_a_worker_that_lacks_the_simulator_is_refused_and_costs_no_try(
    tmp_path: Path, cluster: Cluster, model: Any
) -> None:
    (tmp_path / "elsewhere").mkdir()
    worker = cluster.add_worker(paths=[SOURCES], folder=tmp_path / "elsewhere")
    path = tmp_path / "toy.db"
    with (
        cluster.client() as client,
        toy_study(path) as study,
        pytest.raises(InputError, match="No module named 'model'") as refused,
    ):
        study.run(model.simulate, client, retries=0)
    assert "start it in a folder where model can be imported" in str(refused.value)
    assert f"started in {tmp_path / 'elsewhere'}" in str(refused.value)
    assert "the worker tcp://127.0.0.1:" in str(refused.value)
    assert worker.poll() is None, "no worker dies of it"
    cluster.dismiss()
    cluster.add_worker(paths=[SOURCES], folder=tmp_path / "home")
    with cluster.client() as client, toys.open_toy(path) as study:
        result = study.run(model.simulate, client, retries=0)
    with toys.read_toy(path) as reader:
        assert reader.failures().empty, "the simulator was never called"
    with toy_study(tmp_path / "here.db") as here:
        assert same_result(result, here.run(model.simulate, "serial"))


def test_a_worker_with_another_copy_of_the_simulator_is_refused(
    tmp_path: Path, cluster: Cluster, model: Any
) -> None:
    write_model(tmp_path / "elsewhere", "2.0")
    cluster.add_worker(paths=[SOURCES], folder=tmp_path / "elsewhere")
    with (
        cluster.client() as client,
        toy_study(tmp_path / "toy.db") as study,
        pytest.raises(InputError, match="another copy of scale than the driver's") as refused,
    ):
        study.run(model.simulate, client)
    assert f"started in {tmp_path / 'elsewhere'}" in str(refused.value)
    assert toys.read_toy(tmp_path / "toy.db").status().told == 0


def test_a_worker_that_loaded_the_simulator_before_it_was_edited_is_refused(
    tmp_path: Path, cluster: Cluster, model: Any
) -> None:
    cluster.add_worker(paths=[SOURCES], folder=tmp_path / "home")
    with cluster.client() as client:
        for number, remark in enumerate(["", "# metres"]):  # which changes nothing
            write_model(tmp_path / "home", f"1.0  {remark}")
            with toy_study(tmp_path / f"{number}.db") as study:
                assert study.run(model.simulate, client).samples
        write_model(tmp_path / "home", "2.0")
        with (
            toy_study(tmp_path / "edited.db") as study,
            pytest.raises(InputError, match=r"another copy of scale .* restart it"),
        ):
            study.run(model.simulate, client)
    assert toys.read_toy(tmp_path / "edited.db").status().told == 0


def test_a_worker_need_not_have_the_functions_of_the_program(
    tmp_path: Path, cluster: Cluster
) -> None:
    """They are sent along, also where the worker has another module of that name."""
    for folder, unit in (("home", "1.0"), ("elsewhere", "2.0")):
        write_model(tmp_path / folder, unit)
    cluster.add_worker("--preload", "model", paths=[SOURCES], folder=tmp_path / "elsewhere")
    (tmp_path / "home" / "model.py").write_text(PROGRAM.format(tmp_path / "toy.db"))
    with cluster.client():
        ended = subprocess.run(
            [sys.executable, "model.py", cluster.address],
            cwd=tmp_path / "home",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SOURCES, ROOT)))},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert ended.returncode == 0, ended.stderr


PROGRAM = """
import sys
from pathlib import Path
from distributed import Client
from tests.study.toys import toy_study

def simulate(pull):
    return pull.parameters["a"] + pull.rng().normal()

if __name__ == "__main__":
    with Client(sys.argv[1]) as client, toy_study(Path("{}")) as study:
        study.run(simulate, client)
"""


@pytest.mark.parametrize(
    ("preload", "words"),
    [
        (OLDER, "has surefoot 0.0.9 instead of"),
        (OTHER_NUMPY, "has numpy 9.9.9 instead of"),
        (OLDEST, "a worker has another surefoot than"),
    ],
    ids=["older", "other numpy", "oldest"],
)
def test_a_worker_with_other_software_is_refused(
    tmp_path: Path, cluster: Cluster, preload: str, words: str
) -> None:
    cluster.add_worker("--preload", preload)
    with (
        cluster.client() as client,
        toy_study(tmp_path / "toy.db") as study,
        pytest.raises(InputError, match=words),
    ):
        study.run(toys.linear, client)
    assert toys.read_toy(tmp_path / "toy.db").status().told == 0


def test_that_there_is_no_worker_is_said(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.cluster.PATIENCE", 0.1)
    listener, found = Listener(), []

    def run() -> None:
        with cluster.client() as client, toy_study(tmp_path / "toy.db") as study:
            found.append(study.run(toys.linear, client, progress=listener))

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: listener.said(f"start some with `dask worker {cluster.address}`"))
    cluster.add_worker()
    thread.join()
    with toy_study(tmp_path / "here.db") as study:
        assert same_result(found[0], study.run(toys.linear, "serial"))


STUDY = (
    'delta = 0.05\nseed = 3\nnoise = { kind = "gaussian", scale = 1.0 }\n'
    "arms.grid = { a = [0.0, 5.0], b = [1.0], c = [0.0] }\n"
    'features = "given"\nalgorithm = "robust-static"\n'
    'simulator.python = "tests.study.toys:takes_forever"\n'
)


def test_a_scheduler_that_goes_ends_the_run_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path / "mark"))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    (tmp_path / "study.toml").write_text(STUDY)
    with Cluster(tmp_path, workers=1) as cluster:
        driver = subprocess.Popen(
            [sys.executable, "-m", "surefoot", "run", "study.toml", "--dask", cluster.address],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SOURCES, ROOT)))},
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for((tmp_path / "mark").exists)
        cluster.scheduler.send_signal(signal.SIGKILL)
        _, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 75, errors
    assert f"the Dask scheduler at {cluster.address} is gone" in errors
    assert "run the study again" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "tcp://host:port", ""])
def test_a_wrong_address_is_said(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.study.run.executors.DASK_PATIENCE", "1s")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        dask_client(address)


def test_a_pull_whose_worker_is_killed_is_counted_and_pulled_elsewhere(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.cluster.REFRESH", 0.05)
    monkeypatch.setattr("surefoot.study.run.runner.NOTED_AFTER", 0.0)
    monkeypatch.setattr("surefoot.study.run.runner.SHOWN_AFTER", 0.0)
    cluster.add_worker("--name", "first", "--resources", "licence=1")
    listener, go, path = Listener(), tmp_path / "go", tmp_path / "toy.db"

    def wait_for_go(pull: Any) -> float:
        wait_for(go.exists)
        return toys.linear(pull)

    def run() -> None:
        with cluster.client() as client, toy_study(path, rounds=1) as study:
            study.run(wait_for_go, client, progress=listener)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(path.exists)
        with toys.read_toy(path, rounds=1) as reader:
            wait_for(lambda: bool(reader.status().running))
            assert str(reader.status().running[0].worker).startswith("tcp://127.0.0.1:")
            wait_for(lambda: listener.said(" on tcp://127.0.0.1:"))
            cluster.workers[-1].kill()
            cluster.add_worker()
            wait_for(lambda: listener.said("lost its worker"))
            go.touch()
            thread.join()
            assert reader.status().lost >= 1
    finally:
        go.touch()
        thread.join()
    with toy_study(tmp_path / "calm.db", rounds=1) as calm, toys.open_toy(path, rounds=1) as study:
        assert same_result(study.result, calm.run(toys.linear, "serial"))


def test_a_pull_runs_since_its_turn_came_not_since_it_was_sent(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.cluster.REFRESH", 0.05)
    monkeypatch.setattr("surefoot.study.run.runner.NOTED_AFTER", 0.0)
    cluster.add_worker()
    path = tmp_path / "toy.db"
    first, others = tmp_path / "first", tmp_path / "others"

    def waits(pull: Any) -> float:
        wait_for(others.exists if pull.id else first.exists)
        return toys.linear(pull)

    def run() -> None:
        with cluster.client() as client, toy_study(path, rounds=1) as study:
            study.run(waits, client)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(path.exists)
        with toys.read_toy(path, rounds=1) as reader:
            wait_for(lambda: [one.pull for one in reader.status().running] == [0])
            released = time.time()
            first.touch()
            wait_for(lambda: [one.pull for one in reader.status().running] == [1])
            assert reader.status().running[0].since > released
    finally:
        first.touch()
        others.touch()
        thread.join()


class Company:
    """A simulator whose first pull waits until a scheduler in this process knows of another."""

    scheduler: ClassVar[Any]

    @classmethod
    def awaited(cls, pull: Any) -> float:
        if pull.id == 0:
            wait_for(lambda: len(cls.scheduler.tasks) > 1)
        return toys.linear(pull)


def test_pulls_wait_at_a_cluster_that_could_grow(tmp_path: Path) -> None:
    """Given no more pulls than it has workers, it would not see the use of another."""
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as local,
        local.get_client() as client,
        toy_study(tmp_path / "toy.db", rounds=1) as study,
    ):
        Company.scheduler = local.scheduler
        assert study.run(Company.awaited, client).samples == 16


def test_the_commands_of_the_guide_work_as_written(tmp_path: Path) -> None:
    """But for the host and the port, which are free ones on loopback."""
    page = (ROOT / "docs" / "guides" / "cluster.md").read_text(encoding="utf-8")
    found = re.search(r"## With Dask\n\n```sh\n(.*?)```", page, re.DOTALL)
    assert found is not None
    commands = [line.split("#")[0].split() for line in found[1].splitlines()]
    install, scheduler, worker, run = commands
    assert install == ["pip", "install", "'surefoot[dask]'"]
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    typed(["surefoot", "init"], here).wait()
    started = [typed([*scheduler, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"], there)]
    try:
        address = address_said_by(started[0])
        worker, run = (
            [part.replace("tcp://host:8786", address) for part in command]
            for command in (worker, run)
        )
        started.append(typed([*worker, "--host", "127.0.0.1", "--no-dashboard"], here))
        driver = typed(run, here)
        output, errors = driver.communicate(timeout=PATIENCE)
        assert driver.returncode == 0, errors
        assert "has the best worst case" in output
    finally:
        for process in reversed(started):
            process.terminate()
            process.communicate()


def typed(command: list[str], folder: Path) -> subprocess.Popen[str]:
    """A command as in a shell, where nothing of ours can be imported but surefoot."""
    places = (str(Path(sys.executable).parent), os.environ["PATH"])
    return subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"PATH": os.pathsep.join(places), "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def address_said_by(scheduler: subprocess.Popen[str]) -> str:
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        if address := re.search(r"tcp://127\.0\.0\.1:\d+", line):
            threading.Thread(target=scheduler.stderr.read, daemon=True).start()
            return address[0]
    raise AssertionError("the scheduler has ended")
