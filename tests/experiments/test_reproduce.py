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


def test_figure_1_writes_tables_figures_claims_and_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(synthetic, "IRRELEVANT", replace(synthetic.IRRELEVANT, sizes=(5, 6)))
    monkeypatch.setattr(synthetic, "SPHERE", replace(synthetic.SPHERE, sizes=(10,)))
    options = ["--seed", "4", "--out", str(tmp_path), "--processes", "2", "--quiet"]
    surefoot("all", "--only", "figure1", "--runs", "2", "--prime", "1", "--gamma", "1.5", *options)
    for name, rows in (("irrelevant-dimensions", 38), ("unit-sphere", 19)):
        table = pd.read_parquet(tmp_path / f"{name}.parquet")
        pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / f"{name}.csv"))
        assert len(table) == len(pd.read_csv(tmp_path / f"{name}-seconds.csv")) == rows
        assert "seconds" not in table.columns
        for stem in (name, f"{name}-paper"):
            assert (tmp_path / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / f"{stem}.svg").read_text()
            assert "Robust RAGE" in (tmp_path / f"{stem}.html").read_text()
        assert (tmp_path / f"{name}-summary.md").read_text().count("\n") == 2 + 12
        assert r"\toprule" in (tmp_path / f"{name}-summary.tex").read_text()
        shown = json.loads((tmp_path / f"{name}-printed.json").read_text())
        assert all(len(row["digest"]) == 12 for row in shown["summary"]["rows"])
        origin = json.loads((tmp_path / f"{name}.json").read_text())
        assert origin["command"] == (
            "surefoot reproduce all --only figure1 --runs 2 --gamma 1.5 --prime 1 --seed 4"
        )
        assert (origin["seed"], origin["gamma"], origin["oracle_gamma"]) == (4, 1.5, 1.1)
        said = {"text", "where", "verdict", "numbers", "reading"}
        assert all(said == set(claim) for claim in origin["claims"])
        assert len(shown["claims"]["rows"]) == len(origin["claims"]) > 10
    output = capsys.readouterr().out
    assert "PRIME, unknown scale" in output
    assert "Robust Static requires more samples" in output


def test_the_table_of_patients_is_the_papers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("patients", "--out", str(tmp_path))
    lines = (tmp_path / "patients-summary.md").read_text().splitlines()
    assert len(lines) == 32
    assert "| adult#001 | 9.92 | 35.70 | 61 | 50.42 |" in lines
    assert "| child#010 | 24.21 | 87.16 | 12 | 20.65 |" in lines
    assert "adolescent#009" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("all", "--sizes", "5"), "give the panel as well"),
        (("unit-sphere", "--sizes", "5,x"), "give whole numbers"),
        (("unit-sphere", "--gamma", "1"), "give a growth above 1"),
        (("unit-sphere", "--delta", "2"), "between 0 and 1"),
        (("unit-sphere", "--epsilon", "0"), "such as 0.1"),
        (("figure1", "--only", "bolus"), "choose irrelevant-dimensions, unit-sphere"),
    ],
)
def test_what_is_impossible_is_refused_with_the_remedy(
    arguments: tuple[str, ...],
    hint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    surefoot(*arguments, "--out", str(tmp_path / "none"), code=2)
    assert hint in " ".join(capsys.readouterr().err.split())


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
    def stopping(session: Session, *_: object) -> None:
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
