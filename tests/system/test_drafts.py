"""Files that are there whole or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.system.drafts import replaced_file


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text in ("old", "new"):
        with replaced_file(path) as draft:
            draft.write_text(text)
    assert path.read_text() == "new"


def test_a_study_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "study.csv"  # whatever it is called
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE rewards (reward REAL)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a study"), replaced_file(path) as draft:
        draft.write_text("a report")
    assert path.read_bytes() == before
