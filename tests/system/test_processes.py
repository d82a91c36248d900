"""The process pool, and what its processes inherit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import popen_spawn_posix

import psutil
import pytest

from surefoot.system.processes import ONE_THREAD, ProcessPool
from tests.system import process_jobs
from tests.waiting import PATIENCE


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_processes_ignore_interrupts_and_what_they_start_does_not_have_them_blocked(
    start: str,
) -> None:
    pool = ProcessPool(1, start)
    try:
        ignored, blocked = pool.submit(process_jobs.interrupts).result()
    finally:
        pool.stop()
    assert (ignored, blocked) == (True, False)


def test_processes_have_one_thread_and_the_driver_keeps_its_settings() -> None:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    pool = ProcessPool(1)
    try:
        assert pool.submit(process_jobs.environment, ONE_THREAD).result() == ["1"] * 4
    finally:
        pool.stop()
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before


def test_an_interrupt_while_a_process_starts_acts_when_it_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spawn = popen_spawn_posix.Popen._launch  # type: ignore[attr-defined]

    def interrupted_spawn(self: object, process: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        spawn(self, process)
        started.append(process)

    started: list[object] = []
    monkeypatch.setattr(popen_spawn_posix.Popen, "_launch", interrupted_spawn)
    pool = ProcessPool(1)
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.submit(process_jobs.same, 5)
        assert len(started) == 1
        monkeypatch.undo()
        assert pool.submit(process_jobs.same, 6).result() == 6
    finally:
        pool.stop()


def test_any_thread_may_hand_in_work() -> None:
    pool = ProcessPool(1)
    try:
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(pool.submit, process_jobs.same, 5).result().result() == 5
    finally:
        pool.stop()


def test_stopping_does_not_wait_for_what_is_running() -> None:
    pool = ProcessPool(1)
    process = psutil.Process(pool.submit(os.getpid).result())
    pool.submit(process_jobs.sleep_long)
    pool.stop()
    process.wait(timeout=PATIENCE)
    assert not process.is_running()


def test_processes_die_with_their_driver() -> None:
    program = (
        "import os\n"
        "from surefoot.system.processes import ProcessPool\n"
        "from tests.system import process_jobs\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessPool(1)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    pool.submit(process_jobs.sleep_long)\n"
        "    os._exit(0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stderr == ""  # nothing is said to have leaked
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
        psutil.Process(int(ended.stdout)).wait(timeout=PATIENCE)
