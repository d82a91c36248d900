"""The clinicians' target: right by exhaustive simulation, with a page of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from surefoot.cli import app
from surefoot.paper.bolus.methods import Assignment
from surefoot.paper.bolus.patient import Plan
from surefoot.paper.bolus.target import (
    BELOW,
    SLACK,
    TOLERANCE,
    TargetAdvice,
    advise,
    page_of,
)


@cache
def advice() -> TargetAdvice:
    question = Assignment(tolerance=TOLERANCE)
    return advise("child#001", Plan(arms=7, perturbations=3, runs=2, question=question))


def test_the_answer_keeps_the_limit_and_is_right_by_exhaustive_simulation() -> None:
    found = advice()
    assert found.result.certified
    assert found.right
    arm = found.result.arm
    assert found.truth.below[arm] <= BELOW + SLACK
    kept = found.truth.below <= BELOW
    assert found.truth.within[arm] >= found.truth.within[kept].max() - 1.0
    assert not kept.all()  # the limit decides something
    assert "at most 4 % of the time below 70 mg/dL, whatever the error" in found.sentence


def test_the_limit_binds_for_somebody_who_would_be_better_in_range_without_it() -> None:
    truth = advice().truth
    assert 0 < truth.right.sum() < len(truth.right)
    assert not truth.nobody
    assert np.isfinite(truth.within).all()


def test_the_page_has_profiles_and_both_charts(tmp_path: Path) -> None:
    page = tmp_path / page_of(advice()).write(tmp_path, "surefoot bolus child#001 --target")
    text = page.read_text(encoding="utf-8")
    assert page.name == "child-001-target.html"
    for said in ("Recommended, worst error", "shown to qualify", "Not medical advice", "limit1"):
        assert said in text


def test_a_target_is_for_one_patient() -> None:
    said = CliRunner().invoke(app, ["bolus", "--group", "child", "--target"])
    assert said.exit_code != 0
    assert "--target is for one patient" in f"{said.output}{said.exception}"
