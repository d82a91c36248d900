"""The reproduction: everybody's record becomes tables, figures and words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from surefoot.experiments import EXPERIMENTS
from surefoot.experiments.session import Job, Session
from surefoot.paper import glucose
from surefoot.paper.bolus import tables as bolus
from surefoot.paper.bolus.methods import Assignment
from surefoot.paper.bolus.patient import Plan, study_patient
from surefoot.paper.bolus.problem import DISCLAIMER

SMALL = {"arms": 3, "perturbations": 2, "question": Assignment(budget=300)}


def here(
    self: Session,
    name: str,
    function: Callable[..., Any],
    jobs: Sequence[Job],
    identity: Any = None,
) -> list[Any]:
    """Jobs in this process; what comes back has been through JSON, as from a journal."""
    json.dumps(identity)
    return [json.loads(json.dumps(function(*job.arguments), default=asdict)) for job in jobs]


def test_the_experiment_is_registered() -> None:
    assert EXPERIMENTS["bolus"] == "surefoot.paper.bolus.tables:bolus"


@pytest.mark.parametrize("prime", [True, False])
def test_two_patients_from_jobs_to_files(
    prime: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    people = tuple(glucose.find_patient(name) for name in ("child#004", "adult#001"))
    monkeypatch.setattr(bolus, "all_patients", lambda: people)
    monkeypatch.setattr(Session, "map", here)
    monkeypatch.setattr(
        bolus,
        "study_patient",
        lambda name, plan: study_patient(
            name, Plan(plan.seed, plan.runs, labels=plan.labels, **SMALL)
        ),
    )
    session = Session(runs=2, seed=5, out=tmp_path, command="surefoot reproduce bolus")
    bolus.bolus(session, prime)

    shown = capsys.readouterr().out
    assert DISCLAIMER in " ".join(shown.split())
    assert "Table 1, as found" in shown
    assert "Table 2, worst case" in shown
    assert "69.52" in shown
    for stem in (
        "bolus",
        "bolus-methods",
        "bolus-patients",
        "bolus-choices",
        "bolus-simulations",
        "bolus-arms",
    ):
        read = pd.read_csv(tmp_path / f"{stem}.csv")
        assert len(read) == len(pd.read_parquet(tmp_path / f"{stem}.parquet")) > 0
    for stem in ("bolus", "bolus-regret"):
        assert (tmp_path / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert all(
            (tmp_path / f"{stem}.{ending}").stat().st_size > 1000 for ending in ("svg", "html")
        )
    patients = pd.read_csv(tmp_path / "bolus-patients.csv")
    assert patients["patient"].tolist() == ["adult#001", "child#004"]
    text = (tmp_path / "bolus-table2.md").read_text(encoding="utf-8")
    assert (
        "| Calculator | paper | 7.25 ± 4.24 | – | 17.86 ± 21.35 | 12.62 ± 7.74 | 69.52 ± 20.58 |"
        in text
    )
    assert ("PRIME" in text) == prime
    origin = json.loads((tmp_path / "bolus.json").read_text())
    assert (origin["seed"], origin["runs"], origin["note"]) == (5, 2, DISCLAIMER)
    assert len(origin["claims"]) == 16


def test_jobs_are_all_thirty_patients() -> None:
    asked = bolus.patient_jobs(Plan())
    assert [job.key for job in asked][::10] == ["adult#001", "adolescent#001", "child#001"]
    assert len({job.key for job in asked}) == 30
