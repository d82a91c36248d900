"""Failures told apart, interrupts, and studies that always resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from surefoot.algorithms import Result
from surefoot.errors import InputError
from surefoot.study import Pull, StudyInterrupted, StudyPaused, StudyReader
from surefoot.study.run.executors import _SerialExecutor
from surefoot.system.progress import Snapshot
from tests.study import toys
from tests.study.toys import (
    open_toy,
    read_toy,
    rewards_of,
    same_result,
    toy_study,
)
from tests.waiting import PATIENCE, line_of, wait_for


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(toys.MARK, str(tmp_path / "mark"))
    return tmp_path / "toy.db"


def test_a_failure_is_retried_with_the_same_seed(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study:
        assert same_result(study.run(toys.fails_once, "serial", retries=1), undisturbed[0])
    assert rewards_of(path) == undisturbed[1]
    with read_toy(path) as reader:
        (failure,) = reader.failures().itertuples()
        assert (failure.id, failure.state, failure.attempts) == (5, "done", 2)
        assert "licence server is away" in failure.error


@pytest.mark.parametrize(
    ("simulator", "words"),
    [
        (toys.always_fails_at_5, "ZeroDivisionError: no lift at this angle"),
        (toys.gives_nan_at_5, "returned nan"),
    ],
)
@pytest.mark.parametrize("executor", ["serial", 2])
def test_a_hopeless_pull_pauses_the_study_and_is_named(
    path: Path, undisturbed: Any, simulator: Any, words: str, executor: Any
) -> None:
    with toy_study(path) as study:
        pull = study.ask()[5]
        with pytest.raises(StudyPaused, match=words) as paused:
            study.run(simulator, executor, retries=1)
        message = str(paused.value)
        assert paused.value.pull == 5
        assert "pull 5" in message
        assert "failed 2 times" in message
        assert repr(pull.arm) in message
        assert f"a={pull.parameters['a']:g}" in message
        assert "study.run(simulator)" in message
        assert study.state == "paused"
    with read_toy(path) as reader:
        status = reader.status()
        assert (status.state, status.failed) == ("paused", 1)
        assert status.message == message
    with open_toy(path) as study:
        assert same_result(study.run(toys.linear, "serial"), undisturbed[0])
    assert rewards_of(path) == undisturbed[1]
    with read_toy(path) as reader:
        assert reader.status().failed == 0


def test_a_paused_study_goes_on_in_the_same_process(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study:
        with pytest.raises(StudyPaused):
            study.run(toys.always_fails_at_5, "serial", retries=0)
        assert same_result(study.run(toys.linear, "serial"), undisturbed[0])


def test_a_failed_pull_can_be_told_by_hand(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study:
        fifth = study.ask()[5]
        with pytest.raises(StudyPaused):
            study.run(toys.always_fails_at_5, "serial", retries=0)
        study.tell(5, toys.linear(fifth))
        assert study.state == "running"
        assert same_result(study.run(toys.always_fails_at_5, "serial"), undisturbed[0])


def test_a_lost_worker_costs_nothing_and_does_not_count_as_failure(
    path: Path, undisturbed: Any
) -> None:
    with toy_study(path) as study:
        assert same_result(study.run(toys.kills_its_worker_once, 2, retries=0), undisturbed[0])
    assert rewards_of(path) == undisturbed[1]
    with read_toy(path) as reader:
        assert reader.status().lost >= 1


def test_the_callers_own_broken_pool_is_replaced(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study, ProcessPoolExecutor(2) as pool:
        assert same_result(study.run(toys.kills_its_worker_once, pool, retries=0), undisturbed[0])


def test_a_pull_that_kills_every_worker_does_not_hold_up_the_others(
    path: Path, undisturbed: Any
) -> None:
    with toy_study(path) as study:
        assert same_result(study.run(toys.kills_its_worker_at_5, 2, retries=0), undisturbed[0])
    with read_toy(path) as reader:
        losses = reader.pulls().set_index("id")["losses"]
        assert losses[5] == 4
        assert losses.drop(5).max() <= 3


def test_a_pull_that_always_kills_its_worker_pauses_the_study_and_is_named(
    path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.runner.LONGEST_REST", 0.0)
    with toy_study(path) as study:
        with pytest.raises(StudyPaused, match=r"pull 5 .* lost its worker \d+ times") as paused:
            study.run(toys.always_kills_its_worker_at_5, 2)
        assert paused.value.pull == 5
    with read_toy(path) as reader:
        status = reader.status()
        assert (status.state, status.failed, status.told) == ("paused", 1, 15)
        assert status.message == str(paused.value)
    with open_toy(path) as study:
        assert same_result(study.run(toys.linear, "serial"), undisturbed[0])
    assert rewards_of(path) == undisturbed[1]


class Flaky(_SerialExecutor):
    """Loses every third chunk, as a cluster does whose nodes are taken away."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        if self.calls % 3:
            return super().submit(function, *args, **kwargs)
        future: Future[Any] = Future()
        future.set_exception(ConnectionResetError("node is gone"))
        return future


class Elsewhere:
    """Any object with submit()."""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def submit(self, function: Any, *args: Any) -> Any:
        return self.executor.submit(function, *args)


def test_losses_that_no_pull_is_to_blame_for_have_no_limit(
    path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.runner.LONGEST_REST", 0.0)
    with toy_study(path) as study:
        assert same_result(study.run(toys.linear, Elsewhere(Flaky()), retries=0), undisturbed[0])


def test_a_simulator_that_cannot_be_sent_is_explained(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study:
        with pytest.raises(StudyPaused, match="top level of a module"):
            study.run(lambda pull: toys.linear(pull), 1, retries=0)
        assert same_result(study.run(lambda pull: toys.linear(pull), "threads"), undisturbed[0])


class Held(toys.Listener):
    """An executor that begins nothing before the study has told how far it is, which it does when
    it has handed out all that it wants to; `most` counts the pulls in flight.
    """

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self._max_workers, self.most = size, 0
        self._held: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, function: Any, simulator: Any, chunk: list[Pull]) -> Future[Any]:
        future: Future[Any] = Future()
        self._held.append((future, function, (simulator, chunk)))
        self.most = max(self.most, sum(len(pulls) for *_, (_, pulls) in self._held))
        return future

    def update(self, snapshot: Snapshot) -> None:
        super().update(snapshot)
        held, self._held = self._held, []
        for future, function, arguments in held:
            future.set_result(function(*arguments))


@pytest.mark.parametrize(("size", "most"), [(8, 3), (None, 16)])
def test_as_many_pulls_are_in_flight_as_allowed(
    path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch, size: int | None, most: int
) -> None:
    monkeypatch.setattr("surefoot.study.run.runner.REFRESH", 0.0)
    held = Held(size)
    with toy_study(path) as study:
        result = study.run(toys.linear, held, max_in_flight=most, progress=held)
    assert same_result(result, undisturbed[0])
    assert held.most == most


def test_rewards_told_meanwhile_are_kept(path: Path) -> None:
    def interfering(pull: Any) -> float:
        if pull.id == 0:
            study.tell(15, 123.0)
        return toys.linear(pull)

    with toy_study(path) as study:
        study.run(interfering, "serial")
    assert rewards_of(path)[15][2] == 123.0


def test_tiny_pulls_are_sent_in_chunks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.study.run.worker.time", SteppedClock())  # they take no time

    class Counting(_SerialExecutor):
        chunks = 0

        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            Counting.chunks += 1
            return super().submit(function, *args, **kwargs)

    with toy_study(path, size=150) as study:
        study.run(toys.linear, Elsewhere(Counting()))
        assert Counting.chunks < study.told / 20


def test_pulls_left_over_from_a_chunk_follow(
    path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.study.run.worker.LONGEST_CHUNK", 0.0)
    with toy_study(path) as study:
        assert same_result(study.run(toys.linear, "threads"), undisturbed[0])


def test_slow_pairs_go_first(path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulls of a pair that took long lead the phases after it was noticed; no reward changes."""
    clock, asked = SteppedClock(), []
    monkeypatch.setattr("surefoot.study.run.worker.time", clock)

    def simulate(pull: Pull) -> float:
        clock.now += 5.0 if pull.pair == 3 else 1.0
        asked.append((pull.phase, pull.pair))
        return toys.linear(pull)

    with toy_study(path) as study:
        assert same_result(study.run(simulate, "serial"), undisturbed[0])
    assert rewards_of(path) == undisturbed[1]
    for phase in (1, 2):
        pairs = [pair for at, pair in asked if at == phase]
        assert set(pairs[: pairs.count(3)]) == {3}
        assert pairs[pairs.count(3) :] != sorted(pairs[pairs.count(3) :])  # in a random order


class SteppedClock:
    """Stands in for the module `time`: it goes on only where somebody moves it."""

    now = 0.0

    def time(self) -> float:
        return self.now

    monotonic = time


def test_what_was_asked_by_hand_is_run_too(path: Path, undisturbed: Any) -> None:
    with toy_study(path) as study:
        study.ask(7)
        assert same_result(study.run(toys.linear, "serial"), undisturbed[0])


def test_progress_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.study.run.runner.REFRESH", 0.0)
    listener = toys.Listener()
    with toy_study(path, rounds=4) as study:
        study.run(toys.linear, "serial", progress=listener)
    assert listener.closed
    assert len(listener.heard) >= 4
    told = [snapshot.told for snapshot in listener.heard]
    assert told == sorted(told)
    assert listener.heard[-1].leader is not None
    assert listener.heard[-1].pulls_per_second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "magic"}, "executor='magic'"),
        ({"executor": object()}, "cannot run pulls"),
        ({"retries": -1}, "retries=-1"),
        ({"max_in_flight": 0}, "max_in_flight=0"),
    ],
)
def test_senseless_options_are_refused(path: Path, options: dict[str, Any], message: str) -> None:
    with toy_study(path) as study, pytest.raises(InputError, match=message):
        study.run(toys.linear, **options)


def test_what_cannot_be_called_is_refused(path: Path) -> None:
    with toy_study(path) as study, pytest.raises(InputError, match="cannot be called"):
        study.run(3.0, "serial")  # type: ignore[arg-type]


ROUNDS = 20
DRIVER = """
import sys
from pathlib import Path
from surefoot.study import StudyInterrupted
from tests.study import toys
toys.tell_what_is_heard()
with toys.toy_study(Path(sys.argv[1]), ROUNDS) as study:
    print("ready", flush=True)
    try:
        study.run(getattr(toys, sys.argv[2]), None if sys.argv[3] == "None" else sys.argv[3])
    except StudyInterrupted as stop:
        print(stop, flush=True)
"""


def start_driver(path: Path, simulator: str, executor: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            DRIVER.replace("ROUNDS", str(ROUNDS)),
            str(path),
            simulator,
            executor,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert line_of(process) == "ready\n"
    return process


def heard(process: subprocess.Popen[str]) -> bool:
    """Wait until it has taken its first interrupt: two at once are one to Python."""
    return line_of(process) == "heard\n"


def stored(path: Path) -> int:
    with StudyReader(path) as reader:
        return reader.status().told


@pytest.fixture(scope="module")
def long_undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Result:
    with toy_study(tmp_path_factory.mktemp("undisturbed") / "toy.db", ROUNDS) as study:
        return study.run(toys.linear, "serial")


@pytest.mark.parametrize("executor", ["serial", "None"])
def test_one_interrupt_waits_for_what_is_running(
    path: Path, long_undisturbed: Result, executor: str
) -> None:
    process = start_driver(path, "waits_from_10_on", executor)
    wait_for(lambda: stored(path) > 0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: driver and workers alike
    assert heard(process)
    Path(os.environ[toys.MARK]).touch()
    output, errors = process.communicate(timeout=PATIENCE)
    assert "run the study again to go on" in output, errors
    assert "Traceback" not in errors
    assert 0 < stored(path) < long_undisturbed.samples
    with open_toy(path, ROUNDS) as study:
        assert same_result(study.run(toys.linear, "serial"), long_undisturbed)


def test_a_second_interrupt_does_not_wait(path: Path, long_undisturbed: Result) -> None:
    process = start_driver(path, "takes_forever", "None")
    wait_for(Path(os.environ[toys.MARK]).exists)
    process.send_signal(signal.SIGINT)
    assert heard(process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert "without waiting" in output, errors
    with open_toy(path, ROUNDS) as study:
        assert same_result(study.run(toys.linear, "serial"), long_undisturbed)


def test_an_interrupt_reaches_a_run_in_this_process(path: Path, undisturbed: Any) -> None:
    def interrupting(pull: Any) -> float:
        if pull.id == 4:
            signal.raise_signal(signal.SIGINT)
        return toys.linear(pull)

    before = signal.getsignal(signal.SIGINT)
    with toy_study(path) as study:
        with pytest.raises(StudyInterrupted):
            study.run(interrupting, "serial")
        assert 0 < study.told < 56
        assert signal.getsignal(signal.SIGINT) is before
        assert same_result(study.run(toys.linear, "serial"), undisturbed[0])


def test_workers_die_with_their_driver(path: Path) -> None:
    process = start_driver(path, "writes_its_process", "None")
    mark = Path(os.environ[toys.MARK])
    wait_for(lambda: mark.exists() and mark.read_text().endswith(" "))
    worker = int(mark.read_text().split()[0])
    process.kill()
    process.communicate()
    open_toy(path, ROUNDS).close()  # the lock died with the driver, whatever its workers do
    wait_for(lambda: not is_running(worker))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
