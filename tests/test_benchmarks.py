"""Every benchmark can be imported and asked for its rows: `make bench` never ends half-way by a
name that is gone.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from pathlib import Path

import benchmarks
import pytest
from benchmarks import page


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_a_benchmark_can_be_asked_for_its_rows(name: str) -> None:
    assert isinstance(importlib.import_module(f"benchmarks.{name}").rows(), Iterable)


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: path.name)
def test_tables_of_the_documentation_are_the_rows_that_were_measured(path: Path) -> None:
    text = path.read_text()
    assert page.filled(text, json.loads(page.MEASURED.read_text())) == text


def test_a_marked_place_is_filled_with_the_rows_that_it_asks_for() -> None:
    rows = [
        {"work": "game 1: ours", "measured": "5", "target": "≤ 6", "met": True},
        {"work": "game 1: theirs", "measured": "9", "target": "", "met": None},
        {"work": "other", "measured": "1", "target": "≤ 0", "met": False},
    ]
    text = "a\n<!-- measured peers pivot ^game -->\nold\n<!-- /measured -->\nb\n"
    filled = page.filled(text, {"peers": rows})
    assert "| game 1 | 5 (≤ 6: met) | 9 |" in filled
    assert "old" not in filled
    assert page.filled(filled, {"peers": rows}) == filled
    plain = page.filled(text.replace(" pivot ^game", ""), {"peers": rows})
    assert "| other | 1 | ≤ 0 | **missed** |" in plain
