"""Closing, copying, and readers that stay."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from surefoot.errors import SurefootWarning
from surefoot.study import StudyFileError
from surefoot.study.file.storage import ReadStorage, writing
from tests.study.toys import linear, open_toy, read_toy, rewards_of, toy_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toy.db"


def test_after_closing_the_file_alone_holds_everything_though_readers_stay(
    path: Path, tmp_path: Path
) -> None:
    with read_after_creation(path) as reader:
        with open_toy(path) as study:
            study.run(linear, "serial")
        reader.status()
        shutil.copyfile(path, tmp_path / "copy.db")
    assert rewards_of(tmp_path / "copy.db") == rewards_of(path)
    assert len(rewards_of(tmp_path / "copy.db")) == 56


def read_after_creation(path: Path):  # type: ignore[no-untyped-def]
    toy_study(path).close()
    reader = read_toy(path)
    reader.status()
    return reader


def test_a_reader_that_never_stops_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LAST_PATIENCE", 0.1)
    study = toy_study(path)
    reader = sqlite3.connect(path)
    reading = reader.execute("SELECT * FROM pulls")
    reading.fetchone()
    study.tell(0, 1.0)
    with pytest.warns(SurefootWarning, match=r"toy\.db-wal beside it: keep both files"):
        study.close()
    reading.close()
    reader.close()
    with open_toy(path) as study:
        assert study.told == 1


def test_a_copy_can_be_made_at_any_moment(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with toy_study(path) as study:
        study.tell_many([(0, 1.0), (1, 2.0)])
        ReadStorage(path).copy_to(copy)
        with pytest.raises(StudyFileError, match="exists already"):
            ReadStorage(path).copy_to(copy)
        study.tell(2, 3.0)
    with open_toy(copy) as study:
        assert study.told == 2
