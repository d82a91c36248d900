from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.experiments.session import Session
from surefoot.paper import peers as experiment
from surefoot.paper.peers import (
    BOUND,
    CONTENDERS,
    NUMBER,
    PRIME,
    _run_once,
    figure,
    peers,
    printed,
    summary,
)


def test_a_row_is_replayed_from_its_seed() -> None:
    rows = _run_once("SC2", 3, 1, 7)
    contest = experiment._contest_of("SC2", 3)
    assert [row["label"] for row in rows] == [contender.label for contender in CONTENDERS]
    for contender, row in zip(CONTENDERS, rows, strict=True):
        seed = np.random.SeedSequence(7, spawn_key=(NUMBER, 1, 3, 1))
        assert row.items() >= asdict(contender.run(contest, contest.problem(), seed)).items()
    assert {row["samples"] for row in _run_once("SC2", 3, 2, 7)} != {row["samples"] for row in rows}


def test_the_summary_holds_errors_and_the_bound() -> None:
    rows = [
        {"configuration": "SC", "arms": 3, "run": run, "label": label, "correct": label != "KN-RSB"}
        | {"samples": samples, "certified": False}
        for label, pair in (("KN-RSB", (300, 500)), (PRIME, (100, 100)))
        for run, samples in enumerate(pair)
    ]
    table = summary(pd.DataFrame(rows))
    assert table["label"].tolist() == ["KN-RSB", PRIME, BOUND]
    assert table["mean"].tolist()[:2] == [400, 100]
    assert table["error"][0] == pytest.approx(100)
    assert table["wrong"].tolist() == [2, 0, 0]
    assert 0 < table["mean"][2] < 100
    line = printed(table).markdown().splitlines()[2]
    assert line.startswith("| SC, 3 × 5 | 400 ± 100 | 100 ± 0 |")
    assert line.endswith("| 2 of 4 | 0.25 |")
    assert "lower bound" in json.dumps(figure(table).to_dict())


def test_everything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiment, "SIZES", (3,))
    monkeypatch.setattr(experiment, "KINDS", {"SC": experiment.KINDS["SC"]})
    with Session(runs=2, seed=4, out=tmp_path, processes=1, command="surefoot …") as session:
        peers(session)
    table = pd.read_parquet(tmp_path / "peers.parquet")
    assert len(table) == 2 * len(CONTENDERS)
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "peers.json").read_text())["zone"] == 1
    assert "| SC, 3 × 5 |" in (tmp_path / "peers-summary.md").read_text()
    assert "KN-RSB" in capsys.readouterr().out
