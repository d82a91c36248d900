"""Connections to a study file, and SQLite's errors in words that say what to do.

A study file may come from anywhere, so SQLite is told to trust nothing in it: functions named by
its schema are not called, sizes of cells are checked, and a query that takes more steps than the
file has bytes to justify is stopped. (Its defensive mode restricts statements, not files: what a
file could bring of its own, triggers and virtual tables, schema.py refuses.)
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import StudyFileError
from surefoot.study.file.lock import wal_of

PATIENCE = 30  # seconds, with other programs that hold the database
STEPS_AT_LEAST = 20_000_000  # of SQLite's machine; some tenths of a second
STEPS_PER_BYTE = 10  # a row has 20 bytes or more, and reading it takes some 30 steps
STEPS_BETWEEN_CHECKS = 100_000


class Connection(sqlite3.Connection):
    """A connection whose queries end, whatever the file makes of them."""

    _steps_left = 0

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query, so that no reading goes on when it returns."""
        self._steps_left = STEPS_AT_LEAST + STEPS_PER_BYTE * self._size()
        self.set_progress_handler(self._step, STEPS_BETWEEN_CHECKS)
        try:
            return self.execute(query, values).fetchall()
        finally:
            self.set_progress_handler(None, 0)

    def _step(self) -> bool:
        self._steps_left -= STEPS_BETWEEN_CHECKS
        return self._steps_left < 0

    def _size(self) -> int:
        pages, page = (
            self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
        return int(pages * page)


def connect(path: Path, mode: str) -> Connection:
    """Open a file; `mode` is "ro" or "rw"."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA query_only = ON" if mode != "rw" else "PRAGMA synchronous = FULL")
    return connection


def connect_read_only(path: Path) -> Connection:
    """Open for reading, also where nothing can be written, not even SQLite's own shared memory."""
    connection = connect(path, "ro")
    try:
        connection.rows("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        leftover = wal_of(path)
        if leftover.exists() and leftover.stat().st_size:
            raise
        connection = connect(path, "ro&immutable=1")
    except BaseException:
        connection.close()
        raise
    return connection


def tidy(path: Path) -> None:
    """Let SQLite remove an empty log and its shared memory, which read-only connections leave.

    It does so when the last of all connections is closed, if that one may write.
    """
    wal = wal_of(path)
    with contextlib.suppress(OSError, sqlite3.Error):
        if wal.stat().st_size == 0 and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
            with contextlib.closing(connect(path, "rw")) as last:
                last.execute("PRAGMA busy_timeout = 0")
                last.rows("SELECT count(*) FROM sqlite_master")


def copy(source: Connection, target: Path) -> None:
    """Copy everything that is committed to a new file, which holds all of it without a log."""
    target.touch()  # an OSError where nothing can be written
    made = sqlite3.connect(target)
    try:
        source.backup(made)
    finally:
        made.close()


def explain(path: Path, error: sqlite3.Error) -> StudyFileError:
    """Return the error in words that say what to do."""
    text = str(error)
    code: str = getattr(error, "sqlite_errorname", "")
    if code == "SQLITE_FULL" or "full" in text:
        remedy = (
            "the disk is full: free some space and run the study again; every reward "
            "told before is stored"
        )
    elif code.startswith("SQLITE_IOERR"):
        remedy = (
            "the disk refused to write or read: check space, quota and permissions, then "
            "run the study again"
        )
    elif code.startswith("SQLITE_READONLY"):
        remedy = "the file is read-only: change its permissions, or copy it elsewhere"
    elif code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such" in text:
        remedy = "the file is damaged: restore it from a copy; nothing was written to it"
    elif code == "SQLITE_INTERRUPT" or "decode" in text or code.startswith("SQLITE_CONSTRAINT"):
        remedy = "the file is damaged, or no study: restore it from a copy"
    elif code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        remedy = "another program holds the database: close it and try again"
    else:
        remedy = "check that the file lies on a local disk and can be written"
    return StudyFileError(f"{path}: {text}; {remedy}")
