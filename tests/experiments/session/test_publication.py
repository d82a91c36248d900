"""The files of an experiment."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest

from surefoot.experiments.publication import (
    Claim,
    PrintedTable,
    Publication,
    judged,
    publish,
)
from surefoot.experiments.session import Session
from surefoot.experiments.sources import digest

FRAME = pd.DataFrame(
    {"samples": np.array([1, 2**52]), "correct": [True, False], "label": ["a, b", "c"]}
)
CLAIM = Claim("it is so", "Results", "fails", "1 against 2", "as | is")
ROOT = "surefoot.experiments.instances:classic"
TABLE = PrintedTable(("", "n_x"), [("a", "1 ± 2 %")], [(ROOT,)])


def test_everything_is_written_under_the_experiments_name(tmp_path: Path) -> None:
    session = Session(runs=3, seed=7, out=tmp_path, command="surefoot reproduce x")
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    publication = Publication(
        "x",
        tables={"": FRAME, "-more": FRAME},
        charts={"-chart": chart},
        texts={"-seconds.csv": "δ"},
        printed={"summary": TABLE},
        claims=[CLAIM],
        roots=(ROOT,),
        facts={"delta": 0.05},
    )
    publish(session, publication)
    charts = {f"x-chart.{ending}" for ending in ("png", "svg", "html")}
    tables = {f"x{more}.{ending}" for more in ("", "-more") for ending in ("csv", "parquet")}
    written = {path.name for path in tmp_path.iterdir()}
    shown = {f"x-{key}.{end}" for key in ("summary", "claims") for end in ("md", "tex")}
    others = {"x-seconds.csv", "x-printed.json", "x.json"}
    assert written == charts | tables | shown | others
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "x.parquet"), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "x-more.csv"), FRAME)
    assert (tmp_path / "x-seconds.csv").read_text(encoding="utf-8") == "δ"
    claims = (tmp_path / "x-claims.md").read_text(encoding="utf-8").splitlines()
    assert claims[2] == r"| **fails** | it is so | Results | 1 against 2 | as \| is |"
    assert r"a & 1 $\pm$ 2 \% \\" in (tmp_path / "x-summary.tex").read_text()
    assert r" & n\_x \\" in (tmp_path / "x-summary.tex").read_text()
    row = {"cells": ["a", "1 ± 2 %"], "roots": [ROOT], "digest": digest(ROOT)}
    read = json.loads((tmp_path / "x-printed.json").read_text(encoding="utf-8"))
    assert read["summary"] == {"heads": ["", "n_x"], "rows": [row]}


def test_the_sidecar_says_where_it_comes_from(tmp_path: Path) -> None:
    session = Session(runs=3, seed=7, out=tmp_path, command="surefoot reproduce x")
    publish(session, Publication("x", {"": FRAME}, claims=[CLAIM], facts={"delta": 0.05}))
    origin = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert list(origin) == ["command", "seed", "runs", "delta", "claims", "versions", "code"]
    assert (origin["command"], origin["seed"], origin["runs"]) == ("surefoot reproduce x", 7, 3)
    said = {"text": "it is so", "where": "Results", "numbers": "1 against 2"}
    assert origin["claims"] == [{**said, "verdict": "fails", "reading": "as | is"}]
    assert {"python", "surefoot", "numpy", "numba"} <= set(origin["versions"])


def test_a_failure_publishes_nothing(tmp_path: Path) -> None:
    session = Session(out=tmp_path)
    with pytest.raises(TypeError):
        publish(session, Publication("x", {"": FRAME}, facts={"not": object()}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("margins", "verdict"),
    [
        ([(3.0, 1.0), (2.1, 1.0)], "holds"),
        ([(3.0, 1.0), (1.9, 1.0)], "undecided"),
        ([(3.0, 1.0), (-1.9, 1.0)], "undecided"),
        ([(9.0, 1.0), (-2.1, 1.0)], "fails"),
        ([(9.0, float("nan"))], "undecided"),
        ([], "undecided"),
    ],
)
def test_two_standard_errors_decide(margins: list[tuple[float, float]], verdict: str) -> None:
    assert judged(margins) == verdict


def test_latex_has_no_letter_that_tex_would_not_print() -> None:
    cells = ("γ^t, |Z|²/δ < 1 – ‖λ₁‖₀ …", "1.2 → 3 ∝ ∞, ε θ Δ ≥ ≤")
    text = PrintedTable(("", "n"), [cells], [()]).latex()
    assert text.isascii()
    assert r"$\gamma$\textasciicircum{}t, $|$Z$|$$^2$/$\delta$ $<$ 1 --" in text
