"""Connections to a study file, and the lock that lets one process write.

A study file may come from anywhere, so SQLite is told to trust nothing in it: functions named by
its schema are not called, sizes of cells are checked, and a query that takes more steps than the
file has bytes to justify is stopped. (Its defensive mode restricts statements, not files: what a
file could bring of its own, triggers and virtual tables, schema.py refuses.)

There is one writer per study: the system drops its lock when its process dies, however it dies.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import StudyFileError, StudyLocked

try:
    import fcntl
except ImportError:
    raise ImportError(
        "studies need a POSIX system, whose file locks end with their process: use Linux or "
        "macOS, or the Windows Subsystem for Linux. surefoot.identify works without"
    ) from None

PATIENCE = 30  # seconds, with other programs that hold the database
LOCK_PATIENCE = 1.0  # seconds: outlasts a reader that is just testing the lock
STEPS_AT_LEAST = 20_000_000  # of SQLite's machine; some tenths of a second
STEPS_PER_BYTE = 10  # a row has 20 bytes or more, and reading it takes some 30 steps
STEPS_BETWEEN_CHECKS = 100_000


class Connection(sqlite3.Connection):
    """A connection whose queries end, even on a malicious file."""

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
    """Return the error in words, with the remedy."""
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


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """An exclusive lock on a study, under any name of its file.

    Two files are locked: one beside the study, which also says who writes, and SQLite's log (the
    WAL), once the study is open. People remove the first as if it were rubbish; the second is there
    for as long as any connection is. The study itself is not locked: its locks belong to SQLite.
    Worker processes forked from the writer close their copies at once, or an orphaned worker would
    keep the study locked after its driver was killed.
    """

    def __init__(self, study: Path) -> None:
        self._study, self._handles = study, list[int]()
        self._take(_lock_file(study), os.O_CREAT)
        _held.add(self)

    def take_log(self, wal: Path) -> None:
        """Lock the log of the study too, and sign."""
        self._take(wal, 0)
        os.truncate(self._handles[0], 0)
        os.pwrite(self._handles[0], _own_name().encode(), 0)

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        """Let others write; the file that said who writes goes."""
        if self._handles and _same_file(self._handles[0], _lock_file(self._study)):
            _lock_file(self._study).unlink(missing_ok=True)
        self.drop()

    def drop(self) -> None:
        """Close the handles, as a process must that was forked from the writer."""
        while self._handles:
            os.close(self._handles.pop())

    def _take(self, path: Path, flags: int) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o666)
            while not self._try(handle):
                if time.monotonic() > deadline:
                    os.close(handle)
                    holder = _holder(self._study)
                    self.release()
                    words = f"is being written by {holder}: {_remedy(holder)}"
                    raise StudyLocked(f"{self._study} {words}")
                time.sleep(0.05)
            if _same_file(handle, path):
                self._handles.append(handle)
                return
            os.close(handle)  # its last holder has removed it meanwhile

    def _try(self, handle: int) -> bool:
        try:
            return _try_lock(handle, fcntl.LOCK_EX)
        except OSError as error:
            os.close(handle)
            self.release()
            raise StudyFileError(
                f"{self._study} lies on a file system without locks ({error.strerror}), where two "
                "writers would not know of each other: keep it on a local disk"
            ) from None


def writer_of(study: Path) -> str | None:
    """Return the process that is writing to the study at this moment; None without any."""
    real = study.resolve()
    locked = _is_locked(_lock_file(real)) or _is_locked(wal_of(real))
    return _holder(real) if locked else None


def written_since(study: Path) -> float:
    """Return when the process that is writing to the study opened it, in seconds since 1970; 0
    without any.
    """
    lock = _lock_file(study.resolve())
    with contextlib.suppress(OSError):
        return lock.stat().st_mtime if _is_locked(lock) else 0.0
    return 0.0


def wal_of(study: Path) -> Path:
    """Return the place of SQLite's log beside the study, which holds the latest writes."""
    return study.with_name(study.name + "-wal")


def _lock_file(study: Path) -> Path:
    return study.with_name(study.name + ".lock")


def _same_file(handle: int, path: Path) -> bool:
    """Return whether an open file still has this name."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    except OSError:  # a file system without locks, where no study can be written
        return False
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _remedy(holder: str) -> str:
    if holder == _own_name():
        return (
            "that is this process; close the study first, with study.close() or by a "
            "with block, or use that one"
        )
    return (
        "wait for it to end or stop it; reading is possible meanwhile (surefoot status, "
        "export, report, dashboard)"
    )


def _holder(study: Path) -> str:
    try:
        return _lock_file(study).read_text(errors="replace")[:200] or "another process"
    except OSError:
        return "another process"


def _drop_in_child() -> None:
    for lock in list(_held):
        with contextlib.suppress(OSError):
            lock.drop()


os.register_at_fork(after_in_child=_drop_in_child)
