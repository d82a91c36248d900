"""SQL has one home."""

import re
from pathlib import Path

import surefoot

SOURCES = Path(surefoot.__file__).parent
SQL = re.compile(r"\b(SELECT|INSERT INTO|INSERT OR|UPDATE|DELETE FROM|PRAGMA|CREATE TABLE) \w")


def test_only_the_storage_speaks_sql() -> None:
    speakers = {
        path.relative_to(SOURCES).parent.as_posix()
        for path in SOURCES.rglob("*.py")
        if SQL.search(path.read_text())
    }
    assert speakers == {"study/file/storage"}
