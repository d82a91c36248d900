"""How what is written to a study file survives, and who may write.

Durability: the database is in WAL mode with `synchronous = FULL`, so a write that has returned
survives both a killed process and a power cut (on disks that keep what they report as written). A
transaction is all or nothing; a torn end of the WAL loses the last transactions whole, never a part
of one. The WAL is copied back only by `_shorten_wal` and on closing, always to the end.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import SurefootWarning
from surefoot.study.file.errors import StudyFileError
from surefoot.study.file.lock import WriterLock, wal_of
from surefoot.study.file.storage import connection
from surefoot.study.file.storage.place import Place
from surefoot.study.file.storage.reading import ReadStorage
from surefoot.study.file.storage.records import Running

WAL_LIMIT = 32 * 2**20
LAST_PATIENCE = 5.0  # seconds: how long closing waits for somebody who reads


class DurableStorage(ReadStorage):
    """A study file opened by its one writer: what a transaction has written is safe."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._real = Path(path), Path(path).resolve()
        self._refuse_unusable()
        self._lost: StudyFileError | None = None
        self._closed = False
        self._lock = WriterLock(self._real)
        try:
            with self._explained():
                self._check_pages()
                self._connection = connection.connect(self._real, "rw")
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.rows("SELECT count(*) FROM sqlite_master")  # opens the log
                self._lock.take_log(wal_of(self._real))
                self._place = Place(self._real)
                self._clear_running()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Copy the log back, so that the file alone holds everything, and let others write."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._lost is None:
                self.check_place()
                self._clear_running()
                if not self.checkpoint(LAST_PATIENCE):
                    self._warn_of_log()
        finally:
            with self._explained():
                self._connection.close()
            self._lock.release()

    def check_place(self) -> None:
        """Refuse to go on if the file was removed or replaced; what is known is saved first."""
        if self._lost is None and not self._place.kept:
            self._lost = self._saved()
        if self._lost is not None:
            raise self._lost

    def checkpoint(self, patience: float = connection.PATIENCE) -> bool:
        """Copy the WAL back and cut it to nothing; False if somebody was reading all the time.

        Args:
            patience: seconds to wait for readers.
        """
        with self._explained():
            self._pragma(f"busy_timeout = {round(1000 * patience)}")
            blocked = self._pragma("wal_checkpoint(TRUNCATE)")
            self._pragma(f"busy_timeout = {1000 * connection.PATIENCE}")
        return not blocked

    def set_running(self, running: Iterable[Running]) -> None:
        """Say what is being simulated now, for readers.

        This need not survive a power cut, so the disk is not waited for; the next write of a reward
        makes it durable as well.
        """
        self._connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self._transaction():
                self._connection.execute("DELETE FROM running")
                self._connection.executemany(
                    "INSERT OR REPLACE INTO running VALUES (?, ?, ?)",
                    ((now.pull, now.since, now.worker) for now in running),
                )
        finally:
            self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self.check_place()

    def _pragma(self, text: str) -> int:
        return int(self._connection.execute(f"PRAGMA {text}").fetchone()[0])

    def _refuse_unusable(self) -> None:
        """Look at the file without changing it."""
        ReadStorage(self.path).close()
        _refuse_read_only(self.path)

    def _clear_running(self) -> None:
        """Nothing runs before a study is run, or after."""
        if self.running():
            self.set_running([])

    def _check_pages(self) -> None:
        """Look for damage through a read-only connection, so that a damaged file stays as it is."""
        looking = connection.connect(self._real, "ro")
        try:
            verdict = looking.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            looking.close()
        if verdict != "ok":
            raise StudyFileError(
                f"{self.path} is damaged ({verdict}): restore a copy; nothing was written to it"
            )

    def _shorten_wal(self) -> None:
        """Copy a long WAL back and cut it to nothing, so that it is never older than the file.

        While somebody reads, it waits for the next occasion, not for the reader.
        """
        wal = wal_of(self._real)
        if wal.exists() and wal.stat().st_size > WAL_LIMIT:
            self.checkpoint(patience=0)

    def _saved(self) -> StudyFileError:
        try:
            rescued = self._place.rescue(self._connection)
        except (OSError, sqlite3.Error) as error:
            return StudyFileError(
                f"{self.path} was removed or replaced while it was open, and what it held could "
                f"not be saved elsewhere ({error}): restore a copy and run the study again"
            )
        return StudyFileError(
            f"{self.path} was removed or replaced while it was open. Everything up to now is saved "
            f"in {rescued}: move that to {self.path} and run the study again"
        )

    def _warn_of_log(self) -> None:
        warnings.warn(
            f"somebody is reading {self.path} and does not stop, so the latest rewards are still "
            f"in {wal_of(self._real).name} beside it: keep both files, or make a copy with "
            "`surefoot backup`",
            SurefootWarning,
            stacklevel=5,
        )


def _refuse_read_only(path: Path) -> None:
    if not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK)):
        raise StudyFileError(
            f"{path} is read-only: change its permissions, copy it elsewhere, or open a StudyReader"
        )
    if not os.access(path.parent, os.W_OK):
        raise StudyFileError(
            f"{path.parent} is read-only, and a running study needs files beside it: "
            f"copy it elsewhere"
        )
    if path.stat().st_nlink > 1:
        raise StudyFileError(
            f"{path} has another name as well (a hard link), and SQLite keeps a log for each name: "
            "make a copy, and go on with that"
        )
