"""`surefoot bolus`, as a user types it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from surefoot import cli
from surefoot.experiments import session as runner
from surefoot.experiments.session import Session, _Journal
from surefoot.paper import glucose
from surefoot.paper.bolus import tables
from surefoot.paper.bolus.problem import DISCLAIMER
from tests.paper.bolus.test_experiment import here

SMALL = ("--arms", "3", "--perturbations", "2", "--runs", "2", "--budget", "400")


def surefoot(*arguments: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["bolus", *arguments])
    assert (ended.value.code or 0) == code


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bolus")
    surefoot("adult#001", *SMALL, "--out", str(folder), "--quiet")
    return folder


def test_the_page_recommends_warns_and_stands_alone(report: Path) -> None:
    page = (report / "adult-001.html").read_text(encoding="utf-8")
    assert DISCLAIMER in page
    assert "have the best worst case" in page
    assert "standard calculator, worst error" in page
    assert page.count("<figure hidden data-chart=") == 6
    assert "Attained confidence: " in page
    assert not re.search(r"""(src|href)=["']https?://""", page)
    assert "surefoot bolus &#39;adult#001&#39; --arms 3" in page


def test_profiles_are_drawn_and_tabled(report: Path) -> None:
    assert (report / "adult-001-profiles.png").read_bytes().startswith(b"\x89PNG")
    profiles = pd.read_csv(report / "adult-001-profiles.csv")
    assert profiles["setting"].unique().tolist() == [
        "standard calculator, as set",
        "recommended, as set",
        "standard calculator, worst error",
        "recommended, worst error",
    ]
    bands = profiles[["p5", "p25", "p50", "p75", "p95"]].to_numpy()
    assert (np.diff(bands, axis=1) >= 0).all()
    assert profiles.groupby("setting")["hour"].agg(["count", "max"]).max().tolist() == [96, 23.875]


def test_the_terminal_says_the_same_and_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot(
        "child#004",
        *SMALL,
        "--seed",
        "3",
        "--tolerance",
        "0.5",
        "--delta",
        "0.1",
        "--out",
        str(tmp_path),
    )
    output = capsys.readouterr()
    words = " ".join(output.out.split())
    assert "child#004: TDI" in words
    assert "with 90 % confidence" in words
    assert DISCLAIMER in words
    assert f"report: {tmp_path / 'child-004.html'}" in output.out
    assert (tmp_path / "child-004.html").exists()


def test_everyone_gets_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people = tuple(glucose.find_patient(name) for name in ("child#004", "adult#007"))
    monkeypatch.setattr(tables, "all_patients", lambda: people)
    monkeypatch.setattr(Session, "map", here)
    surefoot("--all", *SMALL, "--out", str(tmp_path), "--quiet")
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 virtual patients: 2 certified" in shown
    assert f"report: {tmp_path / 'bolus-cohort.html'}" in shown
    page = (tmp_path / "bolus-cohort.html").read_text(encoding="utf-8")
    assert page.count("<figure hidden data-chart=") == 2
    assert '<a href="adult-007.html">adult#007</a>' in page
    assert page.index("adult#007") < page.index("child#004")
    assert DISCLAIMER in page
    assert DISCLAIMER in (tmp_path / "adult-007.html").read_text(encoding="utf-8")
    table = pd.read_csv(tmp_path / "bolus-cohort.csv")
    assert table["patient"].tolist() == ["adult#007", "child#004"]
    assert table["pulls"].max() <= 400


class Workers:
    """Do jobs in this process, when they are submitted."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    def submit_all(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Future[Any]]:
        futures = []
        for job in arguments:
            future: Future[Any] = Future()
            future.set_result(function(*job))
            futures.append(future)
            self.jobs.append(job[0])
        return futures

    def stop(self) -> None:
        pass


def test_an_interrupted_cohort_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people = tuple(glucose.find_patient(name) for name in ("child#004", "adult#007"))
    workers, record = Workers(), _Journal.record
    monkeypatch.setattr(tables, "all_patients", lambda: people)
    monkeypatch.setattr(runner, "_Processes", lambda count: workers)
    monkeypatch.setattr(os, "_exit", sys.exit)  # which would end the tests too

    def interrupted(self: _Journal, key: str, result: Any) -> None:
        record(self, key, result)
        raise KeyboardInterrupt

    broken, whole = tmp_path / "broken", tmp_path / "whole"
    with monkeypatch.context() as patch:
        patch.setattr(_Journal, "record", interrupted)
        surefoot("--all", *SMALL, "--out", str(broken), "--quiet", code=130)
    assert "1 jobs are finished and kept, 1 are left" in capsys.readouterr().err
    assert not (broken / "bolus-cohort.html").exists()
    workers.jobs.clear()
    surefoot("--all", *SMALL, "--out", str(broken), "--quiet")
    assert len(workers.jobs) == 1  # the other patient was kept
    surefoot("--all", *SMALL, "--out", str(whole), "--quiet")
    files = sorted(path.name for path in whole.iterdir())
    assert files == sorted(path.name for path in broken.iterdir())
    assert len(files) == 2 + 2 * 5
    for name in files:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.parametrize("reward", ["time-in-range", "time-below", "risk-index"])
def test_other_rewards_can_be_asked_for(
    reward: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("adult#007", *SMALL, "--reward", reward, "--out", str(tmp_path), "--quiet")
    words = " ".join(capsys.readouterr().out.split())
    assert ("and nothing else" in words) == (reward != "risk-index")
    assert f"--reward {reward}" in (tmp_path / "adult-007.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either the name of one patient"),
        (("adult#001", "--all"), "either the name of one patient"),
        (("--all", "--group", "child"), "either the name of one patient"),
        (("--group", "seniors"), "choose adult, adolescent, child"),
        (("adult#001", "--reward", "comfort"), "time-in-range"),
        (("adult#01",), "did you mean 'adult#0"),
        (("adult#001", "--arms", "4"), "odd number"),
        (("adult#001", "--delta", "2"), "not a probability"),
        (("adult#001", "--tolerance", "-1"), "tolerance"),
        (("adult#001", "--runs", "0"), "Invalid value for '--runs'"),
    ],
)
def test_mistakes_are_explained(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot(*arguments, "--out", str(tmp_path / "new"), code=2)
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
