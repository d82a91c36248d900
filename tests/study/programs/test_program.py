"""Programs end with their pull and with their driver, and everything they started with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from surefoot.study.programs.program import run_program
from tests.study.cluster import Cluster
from tests.waiting import PATIENCE, line_of, wait_for

# Starts a child, one in a session of its own and one that has lost its parent too; writes their
# numbers to a file, which appears under its name when it is complete; then does what is asked.
FAMILY = """
sleep 600 & child=$!
setsid sleep 600 & session=$!
orphan=$(setsid sleep 600 > /dev/null & echo $!)
echo $$ $child $session $orphan > "$0.part"
mv "$0.part" "$0"
echo 5
test $1 = leave || wait
"""

DRIVER = """
import sys
from pathlib import Path
from surefoot.study import StudyInterrupted
from surefoot.study.programs.simulators import CommandSimulator
from tests.study import toys
family = sys.argv[2]
mark = str(Path(sys.argv[1]).with_name("family-{id}"))
command = CommandSimulator(["sh", "-c", family, mark, "stay"])
executor = 2 if sys.argv[3] == "processes" else sys.argv[3]
if str(executor).startswith("tcp:"):
    from surefoot.study.run.executors import dask_client
    executor = dask_client(executor)
toys.tell_what_is_heard()
with toys.toy_study(Path(sys.argv[1])) as study:
    try:
        study.run(command, executor)
    except StudyInterrupted as stop:
        print(stop, flush=True)
"""


@pytest.fixture
def families(tmp_path: Path) -> Iterator[Path]:
    """The folder in which they write their numbers; what is left of them ends with the test."""
    yield tmp_path
    for process in numbers_in(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def numbers_in(folder: Path) -> list[int]:
    marks = [path for path in folder.glob("family*") if path.suffix != ".part"]
    return [int(number) for mark in marks for number in mark.read_text().split()]


def alive(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def everybody_is_gone(folder: Path) -> bool:
    return not any(alive(process) for process in numbers_in(folder))


def family(folder: Path, wish: str) -> list[str]:
    return ["sh", "-c", FAMILY, str(folder / "family"), wish]


def test_what_it_left_behind_ends_with_it_and_does_not_hold_the_pull(families: Path) -> None:
    assert run_program(family(families, "leave"), families, None) == "5\n"
    assert len(numbers_in(families)) == 4
    assert everybody_is_gone(families)


def test_everything_it_started_ends_with_its_time_limit(families: Path) -> None:
    for limit in (1.5, 15.0, 150.0):  # on a busy machine they need longer to begin
        with pytest.raises(TimeoutError):
            run_program(family(families, "stay"), families, limit)
        if numbers_in(families):
            break
    assert len(numbers_in(families)) == 4
    assert everybody_is_gone(families)


@pytest.mark.parametrize(
    ("executor", "number"),
    [
        ("processes", signal.SIGTERM),
        ("processes", signal.SIGKILL),
        ("serial", signal.SIGHUP),
        ("serial", signal.SIGKILL),
        ("threads", signal.SIGTERM),
    ],
)
def test_programs_end_with_their_driver(families: Path, executor: str, number: int) -> None:
    driver = start_driver(families, executor)
    driver.send_signal(number)
    driver.communicate(timeout=PATIENCE)
    wait_for(lambda: everybody_is_gone(families))


def test_programs_on_a_cluster_end_with_their_driver(families: Path) -> None:
    with Cluster(families, workers=1) as cluster:
        driver = start_driver(families, cluster.address)
        driver.kill()
        driver.communicate(timeout=PATIENCE)
        wait_for(lambda: everybody_is_gone(families))
        assert cluster.workers[0].poll() is None


@pytest.mark.parametrize("executor", ["processes", "serial"])
def test_programs_end_with_a_second_interrupt(families: Path, executor: str) -> None:
    driver = start_driver(families, executor)
    driver.send_signal(signal.SIGINT)
    assert not everybody_is_gone(families)
    assert line_of(driver) == "heard\n"  # two at once are one to Python
    driver.send_signal(signal.SIGINT)
    output, errors = driver.communicate(timeout=PATIENCE)
    assert "without waiting" in output, errors
    wait_for(lambda: everybody_is_gone(families))


def start_driver(folder: Path, executor: str) -> subprocess.Popen[str]:
    """A driver whose first program has started everything."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder / "toy.db"), FAMILY, executor],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(numbers_in(folder)) >= 4 or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    return driver


def test_many_threads_run_programs(tmp_path: Path) -> None:
    found: dict[int, str] = {}

    def run(number: int) -> None:
        found[number] = run_program(["echo", str(number)], tmp_path, None)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number}\n" for number in range(8)}


def test_a_killed_keeper_costs_one_failure(tmp_path: Path) -> None:
    """And the program goes with it; the next pull has a new one."""
    program = (
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL); import time; time.sleep(600)"
    )
    with pytest.raises(RuntimeError, match="ended from outside"):
        run_program([sys.executable, "-c", program], tmp_path, None)
    assert run_program(["echo", "2"], tmp_path, None) == "2\n"


def test_output_in_any_encoding_is_read(tmp_path: Path) -> None:
    program = r"import sys; sys.stdout.buffer.write(b'\xff caf\xe9\n3\n')"
    assert run_program([sys.executable, "-c", program], tmp_path, None).endswith("\n3\n")
