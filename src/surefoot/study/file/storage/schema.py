"""The study file: its tables, how it is made, and how other files are told apart.

It is an SQLite database:

- `study`: one row per key, value as JSON: id, name, created, versions, problem, settings,
  algorithm, options, direction, seed, configuration, state (running, paused or finished), message
  (why), and result once it is finished; boundary (as numbers), head (digest of the question) and
  fingerprint (digest of all closed phases and of `simulators`).
- `phases`: one row per phase; pulls are `first_pull` to `first_pull + pulls − 1`; `batches` says
  into how many the pulls of each pair are put, in the order of their numbers, `shared` whether
  pulls of different pairs share random streams, `overlaps` how many phases before it were in flight
  when it was chosen, `told` how many of its pulls have their reward, and `spent` what these cost,
  where costs are asked for. Phases without `closing`
  in a finished study were called off. Stored before its first reward: `commitment` (what
  it will be used for, packed), `plan` (digest of layout and commitment) and `link` (digest of that
  and all before it). Stored when it ends, all at once: `summary` (JSON), `rewards` (their digest),
  `limits` (by which evidence was lowered, packed) and `closing` (digest of all up to here).
- `pulls`: one row per pull, made when its phase begins; `reward` is as measured, before any change
  of sign; `others` has further outputs by name, as JSON; `simulator` is the number of what gave it,
  if it was not told by hand; `cost` is what the next phases are chosen by, where costs are asked
  for.
- `simulators`: one row per simulator that was used: its source (JSON), how many rewards were there
  before, how many it gave, and why a change was accepted.
- `running`: one row per pull that is being simulated, kept while the study runs.
- `corrections`: one row per reward that was corrected.
- `log`: one row for whatever else was changed, such as the budget.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import StudyFileError
from surefoot.study.file.storage.connection import Connection, wal_of
from surefoot.system.drafts import new_file

APPLICATION = 0x53464F54  # "SFOT": stands in the header of every study file
FORMAT = 1

TABLES = (
    "CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """
CREATE TABLE phases (
    phase INTEGER PRIMARY KEY,
    first_pull INTEGER NOT NULL,
    pulls INTEGER NOT NULL,
    batches INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    overlaps INTEGER NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    spent REAL NOT NULL DEFAULT 0,
    planned REAL NOT NULL,
    commitment BLOB NOT NULL,
    plan BLOB NOT NULL,
    link BLOB NOT NULL,
    finished REAL,
    summary TEXT,
    rewards BLOB,
    limits BLOB,
    closing BLOB
)""",
    """
CREATE TABLE pulls (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL,
    pair INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'asked', 'failed', 'done')),
    reward REAL,
    cost REAL,
    others TEXT,
    simulator INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0,
    started REAL,
    finished REAL,
    error TEXT
)""",
    "CREATE INDEX pulls_by_finish ON pulls (finished) WHERE finished IS NOT NULL",
    "CREATE INDEX pulls_with_error ON pulls (id) WHERE error IS NOT NULL",
    "CREATE INDEX pulls_failed ON pulls (id) WHERE state = 'failed'",
    "CREATE INDEX pulls_asked ON pulls (id) WHERE state = 'asked'",
    "CREATE TABLE running (pull INTEGER PRIMARY KEY, since REAL NOT NULL, worker TEXT)",
    """
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY,
    pull INTEGER NOT NULL,
    was REAL NOT NULL,
    became REAL NOT NULL,
    others_were TEXT,
    others_became TEXT,
    time REAL NOT NULL
)""",
    """
CREATE TABLE simulators (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    since INTEGER NOT NULL,
    pulls INTEGER NOT NULL DEFAULT 0,
    accepted TEXT
)""",
    "CREATE TABLE log (id INTEGER PRIMARY KEY, time REAL NOT NULL, text TEXT NOT NULL)",
)


def make(path: Path, entries: dict[str, str]) -> None:
    """Write a new study file whole or not at all; an existing file is never replaced."""
    with _reached(path):
        there = path.parent.is_dir()
    if not there:
        raise StudyFileError(
            f"there is no folder {path.parent}: make it first, or choose another place"
        )
    with _reached(path):
        orphan = wal_of(path.resolve()).exists() and not path.exists()
    if orphan:
        raise StudyFileError(
            f"{wal_of(path)} is left of another study of this name, and SQLite would mix the two: "
            "put that study back, or remove what is left of it"
        )
    try:
        with new_file(path) as draft:
            _write(draft, entries)
    except FileExistsError:
        raise StudyFileError(
            f"{path} exists already: open it with Study.open, or choose another name"
        ) from None
    except (sqlite3.Error, OSError) as error:
        raise StudyFileError(
            f"{path} cannot be written ({error}): choose a local folder with free space"
        ) from error


def _write(path: Path, entries: dict[str, str]) -> None:
    connection = sqlite3.connect(path)
    try:
        connection.executescript(
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
            + ";".join(TABLES)
        )
        with connection:
            connection.executemany("INSERT INTO study VALUES (?, ?)", entries.items())
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def check(path: Path, connection: Connection) -> None:
    """Refuse a file that is no study of this format.

    The file is asked through SQLite and never opened beside it: closing a second handle would drop
    the locks that other connections of this process hold on it.
    """
    application, version = (
        connection.rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise StudyFileError(
            f"{path} is a database of another program, not a study: give a file made "
            f"by Study.create"
        )
    if version != FORMAT:
        raise StudyFileError(
            f"{path} has format {version}, and this version of surefoot reads format {FORMAT}: "
            "open it with the version that made it"
        )
    _check_tables(path, connection)
    _refuse_cut(path, connection.rows("PRAGMA page_size")[0][0])


def _refuse_cut(path: Path, page: int) -> None:
    """Refuse a file that ends within a page, which SQLite would fill with zeros."""
    log = wal_of(path.resolve())
    if not (log.exists() and log.stat().st_size) and path.stat().st_size % page:
        raise StudyFileError(f"{path} is damaged (its last page is cut): restore it from a copy")


def refuse_no_database(path: Path) -> None:
    """Refuse a file that cannot be a study before SQLite touches it."""
    with _reached(path):
        there = path.is_file()
    if not there:
        raise StudyFileError(
            f"there is no file {path}: make a study with Study.create or `surefoot run study.toml`"
        )
    if path.stat().st_size < 512:  # SQLite's smallest page; it would take an empty file for its own
        raise no_database(path)
    if not os.access(path, os.R_OK):
        raise StudyFileError(f"{path} cannot be read: check its permissions")


@contextmanager
def _reached(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # a folder that one may not enter, for example
        raise StudyFileError(
            f"{path} cannot be reached ({error.strerror}): check its name, and the permissions of "
            "the folders that it is in"
        ) from None


def no_database(path: Path) -> StudyFileError:
    return StudyFileError(
        f"{path} is not a study: it is no SQLite database. Give a file made by Study.create"
    )


def _check_tables(path: Path, connection: Connection) -> None:
    """Refuse tables that are not as `make` made them, and code of the file's own: views in the
    place of tables, triggers, virtual tables.
    """
    found = {
        name: (kind, _normal(sql))
        for kind, name, sql in connection.rows("SELECT type, name, sql FROM sqlite_master")
        if sql is not None
    }
    wrong = {
        statement.split()[2]
        for statement in map(_normal, TABLES)
        if statement not in {sql for _, sql in found.values()}
    }
    wrong |= {
        name
        for name, (kind, sql) in found.items()
        if kind == "trigger" or sql.upper().startswith("CREATE VIRTUAL")
    }
    if wrong:
        raise StudyFileError(
            f"{path} is damaged, or was not made by surefoot: {', '.join(sorted(wrong))} "
            "should not be as it is there; restore it from a copy"
        )


def _normal(statement: str) -> str:
    return " ".join(statement.split())
