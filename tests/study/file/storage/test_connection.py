"""SQLite is told to trust nothing in a file, and SQL has one home."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import surefoot
from surefoot.study.file.storage import connection as module
from surefoot.study.file.storage.connection import Connection, connect


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.db"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE pulls (id INTEGER)")
        made.execute("CREATE VIEW harmful AS SELECT harm() AS done")
        made.executemany("INSERT INTO pulls VALUES (?)", [(number,) for number in range(100)])
        made.commit()
    return path


@pytest.fixture(params=["ro", "rw"])
def opened(path: Path, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with contextlib.closing(connect(path, request.param)) as connection:
        yield connection


def test_functions_that_a_schema_names_are_not_called(opened: Connection) -> None:
    called: list[bool] = []
    opened.create_function("harm", 0, lambda: called.append(True))
    with pytest.raises(sqlite3.OperationalError, match="unsafe use of harm"):
        opened.rows("SELECT * FROM harmful")
    assert called == []


def test_a_query_ends_after_as_many_steps_as_the_file_can_justify(
    opened: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEPS_AT_LEAST", 1_000_000)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        opened.rows(endless)
    assert opened.rows("SELECT count(*) FROM pulls") == [(100,)]  # each query has steps of its own


def test_a_reader_cannot_write(path: Path) -> None:
    with (
        contextlib.closing(connect(path, "ro")) as opened,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        opened.execute("DELETE FROM pulls")


SOURCES = Path(surefoot.__file__).parent
SQL = re.compile(r"\b(SELECT|INSERT INTO|INSERT OR|UPDATE|DELETE FROM|PRAGMA|CREATE TABLE) \w")


def test_only_the_storage_speaks_sql() -> None:
    speakers = {
        path.relative_to(SOURCES).parent.as_posix()
        for path in SOURCES.rglob("*.py")
        if SQL.search(path.read_text())
    }
    assert speakers == {"study/file/storage"}
