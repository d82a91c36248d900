"""One writer a study: a lock that the operating system drops when its process dies, however it
dies.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
import weakref
from pathlib import Path

from surefoot.study.errors import StudyLocked

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
    """An exclusive lock on a file beside the study.

    It is not taken on the study itself, whose locks belong to SQLite. Worker processes forked from
    the writer close their copy at once, or an orphaned worker would keep the study locked after its
    driver was killed.
    """

    _handle = -1

    def __init__(self, study: Path) -> None:
        self._handle = os.open(_lock_file(study), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        deadline = time.monotonic() + PATIENCE
        while not _try_lock(self._handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                holder = _holder(self._handle)
                self.release()
                raise StudyLocked(f"{study} is being written by {holder}: {_remedy(holder)}")
            time.sleep(0.05)
        os.truncate(self._handle, 0)
        os.pwrite(self._handle, _own_name().encode(), 0)
        _held.add(self)

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def writer_of(study: Path) -> str | None:
    """Who is writing to the study at this moment; None if nobody is."""
    try:
        handle = os.open(_lock_file(study), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _try_lock(handle, fcntl.LOCK_SH) else _holder(handle)
    finally:
        os.close(handle)


def _lock_file(study: Path) -> Path:
    return study.with_name(study.name + ".lock")


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


def _holder(handle: int) -> str:
    return os.pread(handle, 200, 0).decode(errors="replace") or "another process"


def _drop_in_child() -> None:
    for lock in list(_held):
        with contextlib.suppress(OSError):
            lock.release()


os.register_at_fork(after_in_child=_drop_in_child)
