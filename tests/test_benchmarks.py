"""Benchmarks can be asked for their rows, which tables of the documentation show as long as they
are today's; what was stopped goes on.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from pathlib import Path

import benchmarks
import pytest
from benchmarks import __main__ as program
from benchmarks import page, spread


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_a_benchmark_can_be_asked_for_its_rows(name: str) -> None:
    assert isinstance(importlib.import_module(f"benchmarks.{name}").rows(), Iterable)


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: path.name)
def test_tables_of_the_documentation_are_the_rows_that_were_measured(path: Path) -> None:
    """A row that today's code did not print must not show its figures: `make tables` prints it, and
    `python -m benchmarks.page` withdraws it.
    """
    text = path.read_text()
    stores = (json.loads(store.read_text()) for store in (page.MEASURED, page.PRINTED))
    assert page.filled(text, *stores) == text


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Digests of today's code, to be changed at will."""
    today = {"benchmark": "b1", "root": "r1"}
    monkeypatch.setattr(page, "code_of", lambda name: today["benchmark"])
    monkeypatch.setattr(page, "digest", lambda *roots: today["root"])
    return today


ROWS = [
    {"work": "game 1: ours", "measured": "5", "target": "≤ 6", "met": True, "digest": "b1"},
    {"work": "game 1: theirs", "measured": "9", "target": "", "met": None, "digest": "b1"},
    {"work": "other", "measured": "1", "target": "≤ 0", "met": False, "digest": "b1"},
]
GAME = "a\n<!-- measured peers pivot ^game -->\nold\n<!-- /measured -->\nb\n"


def test_a_marked_place_is_filled_with_the_rows_that_it_asks_for(code: dict[str, str]) -> None:
    filled = page.filled(GAME, {"peers": ROWS}, {})
    assert "| game 1 | 5 (≤ 6: met) | 9 |" in filled
    assert "old" not in filled
    assert page.filled(filled, {"peers": ROWS}, {}) == filled
    plain = page.filled(GAME.replace(" pivot ^game", ""), {"peers": ROWS}, {})
    assert "| other | 1 | ≤ 0 | **missed** |" in plain


def test_rows_of_other_code_are_withdrawn(code: dict[str, str]) -> None:
    code["benchmark"] = "b2"
    filled = page.filled(GAME, {"peers": ROWS}, {})
    assert "Withdrawn" in filled
    assert "python -m benchmarks peers" in filled
    assert "| 9 |" not in filled
    some = [ROWS[0] | {"digest": "b2"}, *ROWS[1:]]
    mixed = page.filled(GAME, {"peers": some}, {})
    assert "| game 1 | 5 (≤ 6: met) | withdrawn |" in mixed
    assert page.fresh("measured", "peers", {"peers": some}, {}) is False


def test_a_printed_row_is_withdrawn_with_the_code_that_decides_it(code: dict[str, str]) -> None:
    rows = [
        {"cells": ["ours", "5", "3"], "roots": ["x"], "digest": "r1"},
        {"cells": ["stale", "6", "3"], "roots": ["x"], "digest": "r0"},
        {"cells": ["paper", "7", "3"], "roots": [], "digest": "any"},
    ]
    known = {"bolus": {"table1": {"heads": ["", "n", "m"], "rows": rows}}}
    text = "<!-- printed bolus table1 -->\n<!-- /printed -->"
    filled = page.filled(text, {}, known)
    assert "| ours | 5 | 3 |" in filled
    assert "| stale | withdrawn |  |" in filled
    assert "| paper | 7 | 3 |" in filled
    assert not page.fresh("printed", "bolus", {}, known)
    code["root"] = "r2"
    assert "surefoot reproduce bolus" in page.filled(text, {}, known)
    assert "| paper | 7" not in page.filled(text, {}, known)


def test_a_benchmark_rests_on_its_file_on_what_it_uses_and_on_the_algorithms_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(page, "digest", lambda *roots: asked.extend(roots) or "d")
    page.code_of.__wrapped__("samples")
    assert {page.PRIME, "surefoot.algorithms.robust_rage:RobustRage"} <= set(asked)
    asked.clear()
    page.code_of.__wrapped__("designs")
    assert page.PRIME not in asked
    assert any(root.startswith("surefoot.design") for root in asked)


@pytest.fixture
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


@pytest.mark.usefixtures("one_process")
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


@pytest.mark.usefixtures("one_process")
def test_a_result_that_was_being_written_is_computed_anew(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with pytest.raises(spread.TimeIsUp):
        stopped(path)
    torn = path.read_bytes()[:-3]
    path.write_bytes(torn)
    with pytest.raises(spread.TimeIsUp):
        stopped(path)
    assert len(path.read_bytes()) == len(torn) + 3


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
