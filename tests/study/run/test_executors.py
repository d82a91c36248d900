"""One suite that every executor passes, and what a cluster must stand beyond it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from surefoot.algorithms import Result
from surefoot.study import StudyPaused
from surefoot.study.run.executors import _SerialExecutor, is_loss
from tests.study import toys
from tests.study.cluster import ROOT, SOURCES, Cluster
from tests.study.toys import open_toy, read_toy, rewards_of, same_result, toy_study
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(
    params=[
        "serial",
        "SerialExecutor",
        "threads",
        "ThreadPoolExecutor",
        "processes",
        "ProcessPoolExecutor",
        "Dask",
    ]
)
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    made: dict[str, Any] = {
        "serial": lambda: nullcontext("serial"),
        "SerialExecutor": _SerialExecutor,
        "threads": lambda: nullcontext("threads"),
        "ThreadPoolExecutor": lambda: ThreadPoolExecutor(3),
        "processes": lambda: nullcontext(2),
        "ProcessPoolExecutor": lambda: ProcessPoolExecutor(2),
        "Dask": lambda: request.getfixturevalue("cluster").client(),
    }
    with made[request.param]() as executor:
        yield executor


class TestConformance:
    """What holds for every executor."""

    def test_the_result_is_the_same_to_the_bit(
        self, tmp_path: Path, executor: Any, undisturbed: Any
    ) -> None:
        with toy_study(tmp_path / "toy.db") as study:
            assert same_result(study.run(toys.wobbly, executor), undisturbed[0])
        assert rewards_of(tmp_path / "toy.db") == undisturbed[1]

    def test_it_goes_on_where_another_stopped(
        self, tmp_path: Path, executor: Any, undisturbed: Any
    ) -> None:
        path = tmp_path / "toy.db"
        with toy_study(path) as study:
            for pull in study.ask(21):
                study.tell(pull.id, toys.linear(pull))
        with open_toy(path) as study:
            assert same_result(study.run(toys.linear, executor), undisturbed[0])

    def test_a_failure_pauses_and_is_mended(
        self, tmp_path: Path, executor: Any, undisturbed: Any
    ) -> None:
        path = tmp_path / "toy.db"
        with toy_study(path) as study:
            with pytest.raises(StudyPaused, match="no lift at this angle"):
                study.run(toys.always_fails_at_5, executor, retries=1)
            assert same_result(study.run(toys.linear, executor), undisturbed[0])
        with read_toy(path) as reader:
            assert reader.pulls().set_index("id").loc[5, "attempts"] == 3
        assert rewards_of(path) == undisturbed[1]

    def test_two_studies_share_it(self, tmp_path: Path, executor: Any, undisturbed: Any) -> None:
        """As thirty patients share one cluster: each study has its own thread."""
        results: dict[int, Result] = {}

        def run(number: int) -> None:
            with toy_study(tmp_path / f"{number}.db", seed=11 + number) as study:
                results[number] = study.run(toys.linear, executor)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert same_result(results[0], undisturbed[0])
        assert not same_result(results[1], undisturbed[0])


def test_a_cluster_may_lose_a_worker_and_gain_another(tmp_path: Path, cluster: Cluster) -> None:
    with toy_study(tmp_path / "straight.db", 3, 8) as study:
        expected = study.run(toys.linear, "serial")
    path = tmp_path / "toy.db"
    go = tmp_path / "go"

    def held(pull: Any) -> float:
        if pull.id >= 4:
            wait_for(go.exists)
        return toys.linear(pull)

    with cluster.client() as client, toy_study(path, 3, 8) as study:

        def disturb() -> None:
            wait_for(lambda: study.told > 0)
            cluster.workers.pop(0).kill()
            cluster.add_worker()
            go.touch()

        disturber = threading.Thread(target=disturb, daemon=True)
        disturber.start()
        result = study.run(held, client, retries=0)
        disturber.join()
        client.wait_for_workers(2, timeout=PATIENCE)
    assert same_result(result, expected)
    assert rewards_of(path) == rewards_of(tmp_path / "straight.db")


def test_the_command_line_uses_a_cluster(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "study.toml").write_text(
        'delta = 0.05\nseed = 3\nnoise = { kind = "gaussian", scale = 1.0 }\n'
        "arms.grid = { a = [0.0, 5.0], b = [1.0], c = [0.0] }\n"
        'features = "given"\nalgorithm = "robust-static"\nsimulator.python = '
        '"tests.study.toys:linear"\n'
    )
    run = [sys.executable, "-c", "from surefoot.cli import main; main()", "run", "study.toml"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SOURCES, ROOT)))}
    on_cluster = subprocess.run(
        [*run, "--dask", cluster.address],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert on_cluster.returncode == 0, on_cluster.stderr
    (tmp_path / "study.db").rename(tmp_path / "cluster.db")
    here = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert here.stdout == on_cluster.stdout
    assert "a=5 has the best worst case" in here.stdout


@pytest.mark.parametrize(
    "error", [BrokenProcessPool(), CancelledError(), ConnectionResetError(), EOFError()]
)
def test_what_counts_as_lost(error: BaseException) -> None:
    assert is_loss(error)


def test_a_killed_dask_worker_counts_as_lost() -> None:
    from distributed.scheduler import KilledWorker

    assert is_loss(KilledWorker("task", None, 3))  # type: ignore[arg-type]
    assert not is_loss(ValueError())
