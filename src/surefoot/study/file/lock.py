"""One writer per study: a lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import socket
import time
import weakref
from pathlib import Path

from surefoot.errors import StudyFileError, StudyLocked

try:
    import fcntl
except ImportError:
    raise ImportError(
        "studies need a POSIX system, whose file locks end with their process: use Linux or "
        "macOS, or the Windows Subsystem for Linux. surefoot.identify works without"
    ) from None

PATIENCE = 1.0  # seconds: outlasts a reader that is just testing the lock
_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """An exclusive lock on a study, whatever name it is reached by.

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
        deadline = time.monotonic() + PATIENCE
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
    """Return who is writing to the study at this moment; None if nobody is."""
    real = study.resolve()
    locked = _is_locked(_lock_file(real)) or _is_locked(wal_of(real))
    return _holder(real) if locked else None


def wal_of(study: Path) -> Path:
    """SQLite's log beside the study, which holds the latest writes."""
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
    except OSError:  # a file system without locks, where nobody can write a study
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
