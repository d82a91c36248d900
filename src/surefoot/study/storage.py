"""Reading and writing a study file. All that changes one stands here or in schema.py; readers ask
their own questions.

Durability: the database is in WAL mode with `synchronous = FULL`, so a write that has returned
survives both a killed process and a power cut (on disks that keep what they report as written). A
transaction is all or nothing; a torn end of the WAL loses the last transactions whole, never a part
of one. The WAL is copied back only by `_shorten_wal` and on closing, always to the end.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.study import schema
from surefoot.study.errors import StudyFileError
from surefoot.study.lock import WriterLock
from surefoot.study.pull import Report

WAL_LIMIT = 32 * 2**20


@dataclass(frozen=True, eq=False)
class StoredPhase:
    """A phase as stored, with what is known of its pulls.

    Attributes:
        first_pull: the number of its first pull.
        pairs: (n_pulls,) the pair of each pull, in the order of their numbers.
        rewards: (n_pulls,) as measured; NaN where there is none yet.
    """

    index: int
    first_pull: int
    pairs: IntArray
    rewards: Array

    @property
    def complete(self) -> bool:
        return not np.isnan(self.rewards).any()


class ReadStorage:
    """A study file opened for reading. Readers never block the writer, nor each other."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        schema.check_header(self.path)
        with self._explained():
            self._connection = schema.connect_read_only(self.path)

    def close(self) -> None:
        self._connection.close()

    def entries(self) -> dict[str, Any]:
        """Everything in the table `study`."""
        return {key: json.loads(value) for key, value in self.rows("SELECT key, value FROM study")}

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a query."""
        with self._explained():
            return self._connection.execute(query, values).fetchall()

    def phases(self, since: int = 0) -> Iterator[StoredPhase]:
        """The phases in order, from the given one, each with its pulls."""
        for index, first, count in self.rows(
            "SELECT phase, first_pull, pulls FROM phases WHERE phase >= ? ORDER BY phase", (since,)
        ):
            found = self.rows(
                "SELECT pair, reward FROM pulls WHERE id >= ? AND id < ? ORDER BY id",
                (first, first + count),
            )
            if len(found) != count:
                raise StudyFileError(
                    f"{self.path} is damaged: phase {index} has {len(found)} pulls "
                    f"instead of {count}; restore a copy"
                )
            table = np.array(found, dtype=np.float64)  # a missing reward (None) becomes NaN
            yield StoredPhase(index, first, table[:, 0].astype(np.int64), table[:, 1].copy())

    def summary(self, phase: int) -> dict[str, Any] | None:
        """What was known after a phase, if that was stored."""
        found = self.rows(
            "SELECT summary FROM phases WHERE phase = ? AND summary IS NOT NULL", (phase,)
        )
        known: dict[str, Any] | None = json.loads(found[0][0]) if found else None
        return known

    def asked(self) -> set[int]:
        """Pulls handed out by `surefoot ask` whose reward is not told yet."""
        return {row[0] for row in self.rows("SELECT id FROM pulls WHERE state = 'asked'")}

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise schema.explain(self.path, error) from error


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
                self._connection = schema.connect(self.path, "rw")
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        with self._explained():
            self._connection.close()  # the last to close copies the WAL back and removes it
        self._lock.release()

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

    def finish_phase(self, index: int, summary: dict[str, Any]) -> None:
        """Store what is known after a phase."""
        with self._transaction():
            self._connection.execute(
                "UPDATE phases SET finished = coalesce(finished, ?), summary = ? WHERE phase = ?",
                (time.time(), json.dumps(summary), index),
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

    def _check_pages(self) -> None:
        """Look for damage through a read-only connection, so that a damaged file stays as it is."""
        connection = schema.connect(self.path, "ro")
        try:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
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
            with self._explained():
                self._connection.execute("PRAGMA busy_timeout = 0").fetchall()
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._connection.execute(
                    f"PRAGMA busy_timeout = {1000 * schema.PATIENCE}"
                ).fetchall()


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
