"""`surefoot bolus`, as a user types it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from surefoot import cli, glucose
from surefoot.experiments.bolus.problem import DISCLAIMER
from surefoot.experiments.session.runner import Session
from tests.experiments.bolus.test_experiment import here

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
    assert page.count("<svg") == 2
    assert not re.search(r"""(src|href)=["']https?://""", page)
    assert "surefoot bolus &#39;adult#001&#39; --arms 3" in page


def test_curves_are_drawn_and_tabled(report: Path) -> None:
    for day in ("low", "high"):
        assert (report / f"adult-001-{day}-carb-day.png").read_bytes().startswith(b"\x89PNG")
        curves = pd.read_csv(report / f"adult-001-{day}-carb-day.csv")
        assert list(curves.columns) == ["minute", "bg", "curve"]
        assert curves["minute"].max() == 1440
        assert curves["curve"].nunique() == 4


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
    monkeypatch.setattr(glucose, "all_patients", lambda: people)
    monkeypatch.setattr(Session, "map", here)
    surefoot("--all", *SMALL, "--out", str(tmp_path), "--quiet")
    assert f"reports: 2 pages in {tmp_path}" in capsys.readouterr().out
    assert DISCLAIMER in (tmp_path / "adult-007.html").read_text(encoding="utf-8")
    assert len(pd.read_csv(tmp_path / "bolus-choices.csv")) == 2 * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either the name of one patient"),
        (("adult#001", "--all"), "either the name of one patient"),
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
    surefoot(*arguments, "--out", str(tmp_path), code=2)
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
