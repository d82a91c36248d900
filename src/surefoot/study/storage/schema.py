"""The study file: what it holds, how it is made, and how a file that is none is told apart.

Format 1 is an SQLite database:

- `study`: one row a key, value as JSON: id, name, created, versions, problem, settings, algorithm,
  options, direction, seed, configuration, state (running, paused or finished), message (why), and
  result once it is finished.
- `phases`: one row a phase; its pulls are `first_pull` to `first_pull + pulls − 1`; `summary` is
  JSON, written when it ends.
- `pulls`: one row a pull, made when its phase begins; `reward` is as measured, before any change of
  sign.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from surefoot.study.errors import StudyFileError

APPLICATION = 0x53464F54  # "SFOT": stands in the header of every study file
FORMAT = 1

SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE phases (
    phase INTEGER PRIMARY KEY,
    first_pull INTEGER NOT NULL,
    pulls INTEGER NOT NULL,
    planned REAL NOT NULL,
    finished REAL,
    summary TEXT
);
CREATE TABLE pulls (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL,
    pair INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'asked', 'failed', 'done')),
    reward REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0,
    started REAL,
    finished REAL,
    error TEXT
);
CREATE INDEX pulls_by_finish ON pulls (finished) WHERE finished IS NOT NULL;
CREATE INDEX pulls_with_error ON pulls (id) WHERE error IS NOT NULL;
CREATE INDEX pulls_failed ON pulls (id) WHERE state = 'failed';
"""


def make(path: Path, entries: dict[str, str]) -> None:
    """Write a new study file whole or not at all; an existing file is never replaced."""
    if path.exists():
        raise StudyFileError(
            f"{path} exists already: open it with Study.open, or choose another name"
        )
    if not path.parent.is_dir():
        raise StudyFileError(
            f"there is no folder {path.parent}: make it first, or choose another place"
        )
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        connection = sqlite3.connect(draft)
        try:
            connection.executescript(
                f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {SCHEMA}"
            )
            with connection:
                connection.executemany("INSERT INTO study VALUES (?, ?)", entries.items())
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        # unlike a rename, this refuses to replace a file that came to be meanwhile
        os.link(draft, path)
    except FileExistsError:
        raise StudyFileError(
            f"{path} exists already: open it with Study.open, or choose another name"
        ) from None
    except (sqlite3.Error, OSError) as error:
        raise StudyFileError(
            f"{path} cannot be written ({error}): choose a local folder with free space"
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def check_header(path: Path) -> None:
    """Refuse a file that is no study of a known format, reading its first hundred bytes and nothing
    else.
    """
    if not path.is_file():
        raise StudyFileError(
            f"there is no file {path}: make a study with Study.create or `surefoot run study.toml`"
        )
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StudyFileError(
            f"{path} cannot be read ({error.strerror}): check its permissions"
        ) from None
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise StudyFileError(
            f"{path} is not a study: it is no SQLite database. Give a file made by Study.create"
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise StudyFileError(
            f"{path} is a database of another program, not a study: give a file made "
            f"by Study.create"
        )
    version = int.from_bytes(header[60:64], "big")
    if version > FORMAT:
        raise StudyFileError(
            f"{path} has format {version}, this version of surefoot knows up to "
            f"{FORMAT}: install a newer surefoot"
        )
