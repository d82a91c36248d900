"""Where the simulator runs: errors become reports, and what runs is known while it runs."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from surefoot.study import Pull
from surefoot.study.file.reader import Status
from surefoot.study.run.worker import Board, _begins, _ends, run_chunk
from tests.study import toys
from tests.study.toys import MARK, read_toy, toy_study
from tests.waiting import A_DAY, wait_for

PULLS = [Pull(n, "abc", 0, 0, "arm", "none", {"a": 1.0}, np.zeros(1), 5) for n in range(3)]


@pytest.mark.parametrize("value", [1, 1.5, np.float32(2), np.array(3.0)])
def test_numbers_of_all_kinds_are_rewards(value: Any) -> None:
    (report, *_) = run_chunk(lambda pull: value, PULLS)
    assert isinstance(report.reward, float)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "for success or failure, 1 or 0"),
        *((value, "one number") for value in (None, "1.0", np.zeros(2), 1j, [1.0])),
        *((value, "a finite number") for value in (float("nan"), -np.inf, 1e160)),
        *((value, "output") for value in ({"cost": "high"}, {1: 1.0})),
    ],
)
def test_what_came_instead_of_a_number_is_said(value: Any, words: str) -> None:
    (report, *_) = run_chunk(lambda pull: value, PULLS)
    assert report.reward is None
    assert "the simulator returned" in str(report.error)
    assert words in str(report.error)
    assert "worker.py" not in str(report.error)


def test_a_chunk_of_slow_pulls_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.study.run.worker.LONGEST_CHUNK", 0.0)
    assert [report.id for report in run_chunk(lambda pull: 1.0, PULLS)] == [0]


@pytest.mark.parametrize("error", [KeyError("lift"), SystemExit("lift")])
def test_an_error_does_not_stop_the_chunk(error: BaseException) -> None:
    def simulator(pull: Pull) -> float:
        if pull.id == 1:
            raise error
        return float(pull.id)

    reports = run_chunk(simulator, PULLS)
    assert [report.reward for report in reports] == [0.0, None, 2.0]
    assert reports[1].error is not None
    assert reports[1].error.startswith(f"{type(error).__name__}: ")
    assert "lift" in reports[1].error
    assert "in simulator" in reports[1].error
    assert all(
        report.started is not None and report.finished >= report.started for report in reports
    )


def test_half_a_character_in_a_message_can_be_stored() -> None:
    def simulator(pull: Pull) -> float:
        raise ValueError("no file \udcff here")

    (report,) = run_chunk(simulator, PULLS[:1])
    assert report.error is not None
    assert report.error.startswith("ValueError: no file \\udcff here")
    report.error.encode("utf-8")


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
    listener = toys.Listener()

    def run() -> None:
        with toy_study(tmp_path / "toy.db", rounds=1) as study:
            study.run(toys.waits_for_mark, 2, progress=listener)

    def status() -> Status:
        with read_toy(tmp_path / "toy.db", rounds=1) as reader:
            return reader.status()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_for(lambda: (tmp_path / "toy.db").exists() and len(status().running) == 2)
        running = status().running
        assert {one.pull for one in running} == {0, 1}
        assert [one.since for one in running] == pytest.approx([time.time()] * 2, abs=A_DAY)
        workers = {f"process {child.pid}" for child in psutil.Process(os.getpid()).children()}
        assert {one.worker for one in running} <= workers
        first = running[0]
        wait_for(lambda: listener.said(f"pull {first.pull} runs for"))
        assert f" on {first.worker}" in str(listener.heard[-1])
    finally:
        (tmp_path / "mark").touch()
        thread.join()
    assert status().running == []
