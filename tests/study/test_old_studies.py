"""Unfinished studies of earlier versions go on to the end that they would have had."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from surefoot.study import Pull, Study

DATA = Path(__file__).parent.parent / "data"


def test_an_unfinished_prime_study_of_0_1_0_goes_on_to_its_end(tmp_path: Path) -> None:
    end = json.loads((DATA / "study_prime_v1.json").read_text())

    def simulate(pull: Pull) -> float:
        return float(pull.features @ np.array(end["theta"]) + pull.rng().normal())

    copy = tmp_path / "old.db"
    shutil.copy(DATA / "study_prime_v1.db", copy)
    with Study.open(copy) as study:
        assert study.told == 150
        result = study.run(simulate, "serial")
    assert result.arm == end["arm"]
    assert result.samples == end["samples"]
    assert result.reason.name == end["reason"]
    assert len(result.history) == end["phases"]
    assert result.counts.tolist() == end["counts"]
