"""What runs where, since when: known while it runs."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from surefoot.study.file.reader import Status
from surefoot.study.run.worker import Board, _begins, _ends
from surefoot.system.progress import Snapshot
from tests.study import toys
from tests.study.toys import MARK, read_toy, toy_study
from tests.waiting import wait_for


def test_a_process_without_a_board_says_nothing() -> None:
    _begins(3)
    _ends()
    assert Board(2).running() == []


def test_a_hung_pull_is_named_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path / "mark"))
    monkeypatch.setattr("surefoot.study.run.runner.NOTED_AFTER", 0.0)
    monkeypatch.setattr("surefoot.study.run.runner.SHOWN_AFTER", 0.0)
    heard: list[str] = []

    class Listener:
        def update(self, snapshot: Snapshot) -> None:
            heard.append(str(snapshot))

        def close(self) -> None:
            pass

    begun = time.time()

    def run() -> None:
        with toy_study(tmp_path / "toy.db", rounds=1) as study:
            study.run(toys.waits_for_mark, 2, progress=Listener())

    def status() -> Status:
        with read_toy(tmp_path / "toy.db", rounds=1) as reader:
            return reader.status()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(lambda: (tmp_path / "toy.db").exists() and len(status().running) == 2)
        running = status().running
        assert {one.pull for one in running} == {0, 1}
        assert all(begun <= one.since <= time.time() for one in running)
        workers = {f"process {child.pid}" for child in psutil.Process(os.getpid()).children()}
        assert {one.worker for one in running} <= workers
        first = running[0]
        wait_for(lambda: any(f"pull {first.pull} runs for" in words for words in heard))
        assert f" on {first.worker}" in heard[-1]
    finally:
        (tmp_path / "mark").touch()
        thread.join()
    assert status().running == []
