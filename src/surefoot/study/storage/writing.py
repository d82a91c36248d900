"""What its one writer does to a study file.

Durability: the database is in WAL mode with `synchronous = FULL`, so a write that has returned
survives both a killed process and a power cut (on disks that keep what they report as written). A
transaction is all or nothing; a torn end of the WAL loses the last transactions whole, never a part
of one. The WAL is copied back only by `_shorten_wal` and on closing, always to the end.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surefoot.arrays import IntArray
from surefoot.study.errors import StudyFileError
from surefoot.study.lock import WriterLock
from surefoot.study.pull import Report
from surefoot.study.storage import connection, schema
from surefoot.study.storage.reading import ReadStorage

WAL_LIMIT = 32 * 2**20


class WriteStorage(ReadStorage):
    """A study file opened by its one writer."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        schema.check_header(self.path)
        _refuse_read_only(self.path)
        self._lock = WriterLock(self.path)
        try:
            with self._explained():
                self._check_pages()
                self._connection = connection.connect(self.path, "rw")
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        with self._explained():
            self._connection.close()  # the last to close copies the WAL back and removes it
        self._lock.release()

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

    def set_entries(self, **entries: Any) -> None:
        """Set values in the table `study`."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO study VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in entries.items()],
            )

    def add_phase(self, index: int, first: int, pairs: IntArray) -> None:
        """Store a phase and a row for each of its pulls, all at once."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO phases (phase, first_pull, pulls, planned) VALUES (?, ?, ?, ?)",
                (index, first, len(pairs), time.time()),
            )
            self._connection.executemany(
                "INSERT INTO pulls (id, phase, pair) VALUES (?, ?, ?)",
                ((first + k, index, pair) for k, pair in enumerate(pairs.tolist())),
            )
        self._shorten_wal()

    def finish_phase(self, index: int, note: str) -> None:
        """Store what is known after a phase."""
        with self._transaction():
            self._connection.execute(
                "UPDATE phases SET finished = coalesce(finished, ?), summary = ? WHERE phase = ?",
                (time.time(), note, index),
            )

    def record(self, reports: Sequence[Report], final_failure: int | None = None) -> None:
        """Store what came of pulls in one transaction; a reward that is there already stays.

        Args:
            final_failure: a pull that will not be tried again, so that the study pauses.
        """
        told = [(r.reward, r.started, r.finished, r.id) for r in reports if r.reward is not None]
        failed = [(r.started, r.error, r.id) for r in reports if r.reward is None]
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET state = 'done', reward = ?, attempts = attempts + "
                "1, started = ?, finished = ? "
                "WHERE id = ? AND state <> 'done'",
                told,
            )
            self._connection.executemany(
                "UPDATE pulls SET attempts = attempts + 1, started = ?, error = ? "
                "WHERE id = ? AND state <> 'done'",
                failed,
            )
            if final_failure is not None:
                self._connection.execute(
                    "UPDATE pulls SET state = 'failed' WHERE id = ? AND state <> 'done'",
                    (final_failure,),
                )
        self._shorten_wal()

    def record_losses(self, numbers: Iterable[int], error: str) -> None:
        """Count pulls whose worker died; they will be pulled again."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET losses = losses + 1, error = ? WHERE id = ?",
                ((error, number) for number in numbers),
            )

    def mark(self, numbers: Iterable[int], state: str) -> None:
        """Set the state of pulls that have no reward yet."""
        now = time.time()
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET state = ?, started = ? WHERE id = ? AND state <> 'done'",
                ((state, now, number) for number in numbers),
            )

    def release_failed(self) -> None:
        """Let failed pulls be tried again."""
        with self._transaction():
            self._connection.execute("UPDATE pulls SET state = 'waiting' WHERE state = 'failed'")

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

    def _pragma(self, text: str) -> int:
        return int(self._connection.execute(f"PRAGMA {text}").fetchone()[0])

    def _check_pages(self) -> None:
        """Look for damage through a read-only connection, so that a damaged file stays as it is."""
        looking = connection.connect(self.path, "ro")
        try:
            verdict = looking.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            looking.close()
        if verdict != "ok":
            raise StudyFileError(
                f"{self.path} is damaged ({verdict}): restore a copy; nothing was written to it"
            )

    def _shorten_wal(self) -> None:
        """Copy a long WAL back to its end and cut it to nothing, so that it is never older than the
        file.

        While somebody reads, it waits for the next occasion, not for the reader.
        """
        wal = self.path.with_name(self.path.name + "-wal")
        if wal.exists() and wal.stat().st_size > WAL_LIMIT:
            self.checkpoint(patience=0)


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
