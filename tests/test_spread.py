"""Runs of a benchmark are spread over processes and kept; what was stopped goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from benchmarks import __main__ as program
from benchmarks import page, spread, tables


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "PROCESSES", 1)
    spread._pool.cache_clear()


def stopped(path: Path) -> None:
    """Two calls, of which the second is not begun in time."""
    with spread.kept_in(path):
        assert spread.spread(pow, [(2, 3), (2, 4)]) == [8, 16]
        raise spread.TimeIsUp


def goes_on(path: Path) -> None:
    with spread.kept_in(path):
        assert spread.spread(pow, [(2, 3), (2, 4)]) == [8, 16]
        assert spread.spread(pow, [(2, 5)]) == [32]


def test_results_come_in_the_order_of_their_parts() -> None:
    assert spread.spread(divmod, [(k, 3) for k in range(9)]) == [divmod(k, 3) for k in range(9)]


def test_what_was_stopped_goes_on_with_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept"
    with pytest.raises(spread.TimeIsUp):
        stopped(path)
    monkeypatch.setattr(spread, "UNTIL", 0.0)  # nothing new is begun
    with pytest.raises(spread.TimeIsUp, match="1 of 1 parts are left"):
        goes_on(path)
    monkeypatch.undo()
    goes_on(path)
    assert not path.exists()  # complete


def test_a_result_that_was_being_written_is_computed_anew(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with pytest.raises(spread.TimeIsUp):
        stopped(path)
    torn = path.read_bytes()[:-3]
    path.write_bytes(torn)
    with pytest.raises(spread.TimeIsUp):
        stopped(path)
    assert len(path.read_bytes()) == len(torn) + 3


def test_work_that_cannot_be_split_is_not_begun_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    spread.require_time()
    monkeypatch.setattr(spread, "UNTIL", time.time() - 1)
    with pytest.raises(spread.TimeIsUp):
        spread.require_time()


def test_a_benchmark_of_which_rows_are_missing_is_not_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"work": "w", "measured": "1", "target": "", "met": None, "digest": page.code_of("noise")}
    for complete in (False, True):
        program.keep("noise", [row], complete)
        rows = json.loads((tmp_path / "results" / "benchmarks.json").read_text())
        assert page.fresh("measured", "noise", rows, {}) is complete
        shown = page.filled("<!-- measured noise -->\n<!-- /measured -->", rows, {})
        assert ("withdrawn" in shown) is not complete
        assert "| w | 1 |" in shown


def test_the_rows_of_today_are_taken_wherever_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = page.code_of("noise")
    new, old = ({"work": "w", "digest": digest} for digest in (today, "other"))
    for name in ("RESULTS", "MEASURED", "PRINTED"):
        monkeypatch.setattr(page, name, tmp_path / name)
    page.RESULTS.mkdir()
    page.PRINTED.write_text("{}")
    for repository, since in ((new, old), (old, new)):
        page.MEASURED.write_text(json.dumps({"noise": [repository]}))
        (page.RESULTS / "benchmarks.json").write_text(json.dumps({"noise": [since]}))
        assert page.stored()[0]["noise"] == [new]


def test_tables_are_printed_in_an_order_in_which_the_longest_comes_last() -> None:
    wanted = [name for _, name in tables.in_order(page.places())]
    assert set(wanted) == {name for _, name in page.places()}
    assert wanted[0] == tables.FIRST[0]
    assert wanted[-1] == tables.LAST[-1]


def test_a_command_is_interrupted_when_the_time_is_up() -> None:
    waiting = ["python3", "-c", "import time; time.sleep(86400)"]
    assert tables.run(waiting, time.time() + 0.5) != 0
