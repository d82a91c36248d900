"""The files of an experiment."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest

from surefoot.experiments.publication import Claim, Publication, claim_facts, publish
from surefoot.experiments.session import Session

FRAME = pd.DataFrame(
    {"samples": np.array([1, 2**52]), "correct": [True, False], "label": ["a, b", "c"]}
)
CLAIM = Claim("it is so", True, "1 against 2")


def test_everything_is_written_under_the_experiments_name(tmp_path: Path) -> None:
    session = Session(runs=3, seed=7, out=tmp_path, command="surefoot reproduce x")
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    publication = Publication(
        "x",
        tables={"": FRAME, "-more": FRAME},
        charts={"-chart": chart},
        texts={"-summary.md": "δ"},
        facts={"delta": 0.05, **claim_facts([CLAIM])},
    )
    publish(session, publication)
    charts = {f"x-chart.{ending}" for ending in ("png", "svg", "html")}
    tables = {f"x{more}.{ending}" for more in ("", "-more") for ending in ("csv", "parquet")}
    written = {path.name for path in tmp_path.iterdir()}
    assert written == charts | tables | {"x-summary.md", "x.json"}
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "x.parquet"), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "x-more.csv"), FRAME)
    assert (tmp_path / "x-summary.md").read_text(encoding="utf-8") == "δ"


def test_the_sidecar_says_where_it_comes_from(tmp_path: Path) -> None:
    session = Session(runs=3, seed=7, out=tmp_path, command="surefoot reproduce x")
    publish(session, Publication("x", {"": FRAME}, facts={"delta": 0.05, **claim_facts([CLAIM])}))
    origin = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert list(origin) == ["command", "seed", "runs", "delta", "claims", "versions", "code"]
    assert (origin["command"], origin["seed"], origin["runs"]) == ("surefoot reproduce x", 7, 3)
    said = {"text": "it is so", "holds": True, "numbers": "1 against 2", "verdict": "holds"}
    assert origin["claims"] == [{**said, "runs": None, "clear": True}]
    assert {"python", "surefoot", "numpy", "numba"} <= set(origin["versions"])


def test_a_failure_publishes_nothing(tmp_path: Path) -> None:
    session = Session(out=tmp_path)
    with pytest.raises(TypeError):
        publish(session, Publication("x", {"": FRAME}, facts={"not": object()}))
    assert list(tmp_path.iterdir()) == []
