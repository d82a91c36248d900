"""`surefoot reproduce`, as a user types it."""

from __future__ import annotations

import json
import os
import pkgutil
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from surefoot import cli
from surefoot.experiments import EXPERIMENTS, GROUPS
from surefoot.experiments.session import Interrupted, Session, Stopped
from surefoot.paper import figure1 as synthetic


def surefoot(*arguments: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["reproduce", *arguments])
    assert (ended.value.code or 0) == code


def test_all_writes_tables_figures_and_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(synthetic, "IRRELEVANT", replace(synthetic.IRRELEVANT, sizes=(5, 6)))
    monkeypatch.setattr(synthetic, "SPHERE", replace(synthetic.SPHERE, sizes=(10,)))
    surefoot(
        "all", "--runs", "2", "--seed", "4", "--out", str(tmp_path), "--processes", "2", "--quiet"
    )
    for name, rows in (("irrelevant-dimensions", 36), ("unit-sphere", 18)):
        table = pd.read_parquet(tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / f"{name}.csv"))
        assert len(table) == len(pd.read_csv(tmp_path / f"{name}-seconds.csv")) == rows
        assert "seconds" not in table.columns
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
        assert "Robust RAGE" in (tmp_path / f"{name}.html").read_text()
        assert (tmp_path / f"{name}-summary.md").read_text().count("\n") == 2 + 10
        origin = json.loads((tmp_path / f"{name}.json").read_text())
        assert origin["command"] == "surefoot reproduce all --runs 2 --seed 4"
        assert origin["seed"] == 4
        said = {"text", "holds", "numbers", "verdict", "runs", "clear"}
        assert all(said == set(claim) for claim in origin["claims"])
    assert len(list(tmp_path.iterdir())) == 2 * 8
    output = capsys.readouterr().out
    assert "PRIME, unknown scale" in output
    assert "Robust Static needs more samples" in output
    assert "too few runs to say" in output


def test_an_unknown_experiment_is_told_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    surefoot("unit-cube", code=2)
    message = capsys.readouterr().err
    assert all(name in message for name in ("unit-cube", *EXPERIMENTS, *GROUPS))


def test_no_runs_and_an_unwritable_folder_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("all", "--runs", "0", "--out", str(tmp_path / "out"), code=2)
    assert "Invalid value for '--runs'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").touch()
    surefoot("all", "--out", str(tmp_path / "file"), code=2)
    assert "give another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stop", "code"), [(Stopped("a worker died"), 1), (Interrupted("interrupted"), 130)]
)
def test_what_stops_early_ends_with_its_message(
    stop: Stopped,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopping(session: Session) -> None:
        raise stop

    monkeypatch.setattr(EXPERIMENTS["unit-sphere"].replace(":", "."), stopping)
    monkeypatch.setattr(os, "_exit", sys.exit)  # which would end the tests too
    surefoot("unit-sphere", "--out", str(tmp_path), code=code)
    assert capsys.readouterr().err == f"surefoot: {stop}\n"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_registered_experiment_is_a_function(name: str) -> None:
    assert callable(pkgutil.resolve_name(EXPERIMENTS[name]))


def test_groups_hold_experiments() -> None:
    assert all(set(names) <= set(EXPERIMENTS) for names in GROUPS.values())
