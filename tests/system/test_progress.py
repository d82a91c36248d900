"""What is shown of a running study or experiment, and what of it is safe to show."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from surefoot.system.progress import (
    Forward,
    JobsSnapshot,
    Snapshot,
    _BarProgress,
    _LineProgress,
    cell,
    duration,
    printable,
    progress_for,
    progress_if_seen,
    spreadsheet_safe,
)

START = Snapshot(0, 0, 20, 0, 4, 5, None, None, None)
LATER = Snapshot(
    told=70,
    phase=3,
    phase_pulls=30,
    phase_told=10,
    in_flight=4,
    survivors=2,
    leader="brisk",
    expected_left=600.0,
    pulls_per_second=2.0,
)


def test_a_snapshot_says_what_is_known() -> None:
    early = "too early to say how many pulls are left"
    assert str(START) == f"0 pulls, phase 0: 0/20, 5 arms possible, {early}"
    assert str(LATER) == (
        "70 pulls, phase 3: 10/30, 2 arms possible, leading: brisk, about 600 pulls "
        "left, 5 min left"
    )
    assert "hardly any pulls left, 0 s left" in str(replace(LATER, expected_left=0.0))
    assert str(replace(LATER, trouble="pull 5 failed")).endswith(", pull 5 failed")
    assert "nearly level (see `surefoot status`)" in str(replace(LATER, near_tie=True))


def test_lines_come_now_and_then_and_at_the_end() -> None:
    stream = io.StringIO()
    lines = _LineProgress(stream, every=1000)
    lines.update(START)
    lines.update(LATER)
    assert stream.getvalue() == ""
    lines.close()
    lines.close()
    assert stream.getvalue() == f"{LATER}\n"


def test_a_line_is_due_after_its_time() -> None:
    stream = io.StringIO()
    lines = _LineProgress(stream, every=0)
    lines.update(START)
    lines.update(LATER)
    assert stream.getvalue().splitlines() == [str(START), str(LATER)]


def test_a_bar_shows_phase_and_leader() -> None:
    stream = io.StringIO()
    bar = _BarProgress(Console(file=stream, force_terminal=True, width=160))
    bar.update(START)
    bar.update(LATER)
    bar.close()
    assert "leading: brisk" in stream.getvalue()
    assert "10/30" in stream.getvalue()


def test_the_bar_of_a_study_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    forward, shares = Forward(), (0.1, 0.4, 0.3, 0.35, 0.6)
    assert [forward.at(share) for share in shares] == [0.1, 0.4, 0.4, 0.4, 0.6]
    bar = _BarProgress(Console(file=io.StringIO(), force_terminal=True, width=160))
    seen: list[float] = []
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda *_, completed, **__: seen.append(completed)
    )
    for left in (100.0, 30.0, 300.0):  # the forecast changes its mind
        bar.update(replace(LATER, expected_left=left))
    bar.close()
    assert seen == [70 / 170, 0.7, 0.7]


def test_the_share_of_a_study_is_that_of_the_whole_and_not_all_before_its_end() -> None:
    assert START.share == 0.0
    assert LATER.share == 70 / 670
    assert replace(LATER, expected_left=0.0).share == 0.99


def test_jobs_say_their_share_and_what_is_left() -> None:
    assert str(JobsSnapshot("toy", 12.0, 0.0, None)) == "toy: 0 %"
    assert str(JobsSnapshot("toy", 12.0, 3.0, 90.0)) == "toy: 25 %, 2 min left"
    assert str(JobsSnapshot("toy", 12.0, 12.0, 0.0)) == "toy: 100 %"


def test_one_bar_serves_an_experiment_after_another() -> None:
    stream = io.StringIO()
    bar = _BarProgress(Console(file=stream, force_terminal=True, width=160))
    for title in ("first", "second"):
        before = len(stream.getvalue())
        bar.update(JobsSnapshot(title, 12.0, 3.0, 90.0))
        bar.close()
        shown = stream.getvalue()[before:]
        assert [name for name in ("first", "second") if name in shown] == [title]
        assert "2 min left" in shown


def test_a_narrow_terminal_keeps_the_bar_and_cuts_the_words() -> None:
    stream = io.StringIO()
    bar = _BarProgress(Console(file=stream, force_terminal=True, width=70))
    bar.update(LATER)
    bar.close()
    assert "phase 3" in stream.getvalue()
    assert "10/30" in stream.getvalue()
    assert "70 pulls" in stream.getvalue()
    assert "2 arms possible" in stream.getvalue()


def test_a_log_gets_lines_and_a_terminal_a_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert isinstance(progress_for(io.StringIO()), _LineProgress)
    assert isinstance(progress_for(Terminal()), _BarProgress)


def test_a_notebook_gets_one_bar_that_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is updated, a cell holds one output, and at the end an empty one."""
    cells: list[list[dict[str, str]]] = []

    class Shown:
        def update(self, data: dict[str, str], raw: bool) -> None:
            cells[-1].append(data)

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Shown:
        cells.append([data])
        return Shown()

    shell = SimpleNamespace(kernel=None)
    ours = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ours)
    monkeypatch.setitem(sys.modules, "IPython.display", ours.display)
    bar = progress_if_seen(io.StringIO())
    for left in (600.0, 100.0, 300.0):
        bar.update(replace(LATER, expected_left=left, leader="<brisk>"))
    bar.close()
    (outputs,) = cells
    values = [data["text/html"][:23] for data in outputs[:3]]
    assert values == [f'<progress value="{share:.3f}"' for share in (70 / 670, 70 / 170, 70 / 170)]
    assert "&lt;brisk&gt;" in outputs[0]["text/html"]
    assert outputs[0]["text/plain"].startswith("70 pulls, phase 3")
    assert outputs[3] == {"text/html": "", "text/plain": ""}
    bar.update(LATER)
    assert len(cells) == 2


def test_durations() -> None:
    assert [duration(s) for s in (5, 90, 7200, 200000)] == ["5 s", "2 min", "2.0 h", "2.3 days"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb\b", "a\\rb\\x08"),
        ("left \u202e thgir", "left \\u202e thgir"),
        ("half \ud800", "half \\ud800"),
        ("two\nlines\tžluť 🦶", "two\nlines\tžluť 🦶"),
    ],
)
def test_nothing_steers_a_terminal(given: str, shown: str) -> None:
    assert printable(given) == shown


def test_formulas_become_text_and_numbers_stay_numbers() -> None:
    formulas = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx"]
    assert [cell(text) for text in formulas] == [f"'{text}" for text in formulas]
    assert [cell(value) for value in ("calm", -1.5, None)] == ["calm", -1.5, None]


def test_a_table_is_safe_in_its_headers_too() -> None:
    frame = pd.DataFrame({"=x": [-1.0, 2.0], "arm": ["=cmd|x", "calm"], "error": [None, "-1"]})
    safe = spreadsheet_safe(frame)
    assert safe.columns.tolist() == ["'=x", "arm", "error"]
    assert safe["'=x"].tolist() == [-1.0, 2.0]
    assert safe["arm"].tolist() == ["'=cmd|x", "calm"]
    assert safe["error"].tolist()[1] == "'-1"
    assert frame["arm"].tolist()[0] == "=cmd|x"
