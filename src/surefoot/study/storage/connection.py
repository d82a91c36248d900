"""Connections to a study file, and SQLite's errors in words that say what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from surefoot.study.errors import StudyFileError

PATIENCE = 30  # seconds, with other programs that hold the database


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a checked file; `mode` is "ro" or "rw"."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only = ON" if mode == "ro" else "PRAGMA synchronous = FULL")
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open for reading, also where nothing can be written, not even SQLite's own shared memory."""
    try:
        connection = connect(path, "ro")
        connection.execute("SELECT count(*) FROM study").fetchone()
    except sqlite3.OperationalError:
        leftover = path.with_name(path.name + "-wal")
        if leftover.exists() and leftover.stat().st_size:
            raise
        connection = connect(path, "ro&immutable=1")
    return connection


def explain(path: Path, error: sqlite3.Error) -> StudyFileError:
    """The same error in words that say what to do."""
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
    elif code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        remedy = "another program holds the database: close it and try again"
    else:
        remedy = "check that the file lies on a local disk and can be written"
    return StudyFileError(f"{path}: {text}; {remedy}")
