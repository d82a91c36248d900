"""Writing to a study file: durability, and the exclusive writer.

Durability: the database is in WAL mode with `synchronous = FULL`, so a write that has returned
survives both a killed process and a power cut (on disks that keep what they report as written). A
transaction is all or nothing; a torn end of the WAL loses the last transactions whole, never a part
of one. The WAL is copied back only by `_shorten_wal` and on closing, always to the end.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from surefoot.errors import StudyFileError, SurefootWarning
from surefoot.study.file.encoding import packed
from surefoot.study.file.storage import connection
from surefoot.study.file.storage.connection import WriterLock, wal_of
from surefoot.study.file.storage.reading import ReadStorage
from surefoot.study.file.storage.records import Ending, Running, StoredPhase
from surefoot.study.input import Reading
from surefoot.study.provenance import Source
from surefoot.study.pull import Report
from surefoot.system.drafts import new_file

WAL_LIMIT = 32 * 2**20
LAST_PATIENCE = 5.0  # seconds for which closing waits for readers


class _Place:
    """The study file and its log as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identities = {file: _identity(file) for file in (path, wal_of(path))}

    @property
    def kept(self) -> bool:
        """True if the files are still those that were opened."""
        return all(_identity(file) == known for file, known in self._identities.items())

    def rescue(self, source: connection.Connection) -> Path:
        """Copy the contents of an open connection to a new file, beside the study if possible.

        The log that stayed behind is removed: SQLite would take it for that of the next file of
        this name.
        """
        failure: OSError | None = None
        for folder in (self._path.parent, Path.cwd(), Path(tempfile.gettempdir())):
            try:
                rescued = self._copy(source, folder)
            except OSError as error:
                failure = error
                continue
            self._remove_log()
            return rescued
        assert failure is not None
        raise failure

    def _copy(self, source: connection.Connection, folder: Path) -> Path:
        for path in self._names(folder):
            try:
                with new_file(path) as draft:
                    connection.copy(source, draft)
            except FileExistsError:
                continue
            return path
        raise AssertionError("there is no end of names")

    def _remove_log(self) -> None:
        wal = wal_of(self._path)
        if _identity(wal) == self._identities[wal]:
            wal.unlink(missing_ok=True)

    def _names(self, folder: Path) -> Iterator[Path]:
        for number in count(1):
            mark = "rescued" if number == 1 else f"rescued-{number}"
            yield folder / f"{self._path.stem}.{mark}{self._path.suffix}"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class WriteStorage(ReadStorage):
    """A study file opened by its one writer; each change is stored whole or not at all."""

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
                self._place = _Place(self._real)
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
        """Refuse to go on if the file was removed or replaced, after saving its contents."""
        if self._lost is None and not self._place.kept:
            self._lost = self._saved()
        if self._lost is not None:
            raise self._lost

    def checkpoint(self, patience: float = connection.PATIENCE) -> bool:
        """Copy the WAL back and empty it; return False if readers prevented that.

        Args:
            patience: seconds to wait for readers.
        """
        with self._explained():
            self._pragma(f"busy_timeout = {round(1000 * patience)}")
            blocked = self._pragma("wal_checkpoint(TRUNCATE)")
            self._pragma(f"busy_timeout = {1000 * connection.PATIENCE}")
        return not blocked

    def set_running(self, running: Iterable[Running]) -> None:
        """Store the pulls being simulated now, for readers.

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

    def set_entries(self, **entries: Any) -> None:
        """Set values in the table `study`."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO study VALUES (?, ?)", _rows(entries)
            )

    def add_phase(self, phase: StoredPhase) -> None:
        """Store a phase and a row for each of its pulls, all at once."""
        index, first, pairs = phase.index, phase.first_pull, phase.pairs
        with self._transaction():
            self._connection.execute(
                "INSERT INTO phases (phase, first_pull, pulls, batches, shared, overlaps, planned, "
                "commitment, plan, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(index, first, len(pairs), phase.batches, int(phase.shared), phase.overlaps),
                    *(time.time(), packed(phase.commitment), phase.plan, phase.link),
                ),
            )
            self._connection.executemany(
                "INSERT INTO pulls (id, phase, pair) VALUES (?, ?, ?)",
                ((first + k, index, pair) for k, pair in enumerate(pairs.tolist())),
            )
        self._shorten_wal()

    def finish_phase(self, index: int, note: str, ending: Ending) -> None:
        """Close a phase: store the summary after it, and its proof, all at once."""
        with self._transaction():
            self._connection.execute(
                "UPDATE phases SET finished = coalesce(finished, ?), summary = ?, rewards = ?, "
                "limits = ?, closing = ? WHERE phase = ?",
                (time.time(), note, ending.rewards, packed(ending.limits), ending.closing, index),
            )
            self._sign()

    def _sign(self) -> None:
        """Store the fingerprint of the file's contents, within a transaction."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO study VALUES (?, ?)", _rows({"fingerprint": self._fingerprint})
        )

    def change_note(self, index: int, note: str) -> None:
        """Store a new summary of a closed phase."""
        with self._transaction():
            self._connection.execute("UPDATE phases SET summary = ? WHERE phase = ?", (note, index))

    def log(self, text: str, **entries: Any) -> None:
        """Set values in the table `study`, and say in the log that they changed."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO study VALUES (?, ?)", _rows(entries)
            )
            self._connection.execute(
                "INSERT INTO log (time, text) VALUES (?, ?)", (time.time(), _storable(text))
            )

    def record(
        self,
        reports: Sequence[Report],
        of_phases: Mapping[int, tuple[int, float]],
        final_failure: int | None = None,
        simulator: int | None = None,
    ) -> None:
        """Store the reports of pulls in one transaction; rewards stored before stay.

        Args:
            simulator: the number of the simulator that gave the rewards; None if a person told
                them.
            of_phases: how many of the rewards are of each phase, and the cost of these pulls.
            final_failure: a pull that will not be tried again, so that the study pauses.
        """
        told = [
            (
                *(r.reward, r.others or None, r.cost, simulator, r.started, r.finished),
                *(None if r.error is None else _storable(r.error), r.id),
            )
            for r in reports
            if r.reward is not None
        ]
        failed = [(r.started, _storable(r.error), r.id) for r in reports if r.reward is None]
        with self._transaction():
            stored = self._connection.executemany(
                "UPDATE pulls SET state = 'done', reward = ?, others = ?, cost = ?, simulator = ?, "
                "attempts = attempts + 1, started = ?, finished = ?, error = coalesce(?, error) "
                "WHERE id = ? AND state <> 'done'",
                told,
            )
            if told and stored.rowcount != len(told):
                raise StudyFileError(
                    f"{self.path} was changed by another program while it was open: nothing was "
                    "stored; close it there and run the study again"
                )
            self._connection.execute(
                "UPDATE simulators SET pulls = pulls + ? WHERE id = ?", (len(told), simulator)
            )
            self._connection.executemany(
                "UPDATE phases SET told = told + ?, spent = spent + ? WHERE phase = ?",
                [(*told_and_spent, phase) for phase, told_and_spent in of_phases.items()],
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

    def add_simulator(self, source: Source, since: int) -> None:
        """Store a simulator that the study is run with from now on."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO simulators (source, since) VALUES (?, ?)",
                (_storable(json.dumps(source.to_dict())), since),
            )
            self._sign()

    def accept_simulators(self, numbers: Iterable[int], reason: str) -> None:
        """Store why rewards of these simulators are those of the first one, and say so."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE simulators SET accepted = ? WHERE id = ?",
                [(_storable(reason), number) for number in numbers],
            )
            self._connection.execute(
                "INSERT INTO log (time, text) VALUES (?, ?)",
                (time.time(), _storable(f"a change of the simulator was accepted: {reason}")),
            )
            self._sign()

    def correct(self, was: Mapping[int, Reading], became: Mapping[int, Reading]) -> None:
        """Replace rewards and further outputs, and keep the old ones."""
        now = time.time()
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET reward = ?, others = ? WHERE id = ?",
                [(new.reward, new.others or None, number) for number, new in became.items()],
            )
            self._connection.executemany(
                "INSERT INTO corrections (pull, was, became, others_were, others_became, time) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (n, old.reward, new.reward, old.others or None, new.others or None, now)
                    for n, old, new in ((n, was[n], new) for n, new in became.items())
                ],
            )

    def record_losses(self, numbers: Iterable[int], error: str) -> None:
        """Count pulls whose worker died; they will be pulled again."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET losses = losses + 1, error = ? WHERE id = ? AND state <> 'done'",
                ((_storable(error), number) for number in numbers),
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
        self.check_place()

    def _pragma(self, text: str) -> int:
        return int(self._connection.execute(f"PRAGMA {text}").fetchone()[0])

    def _refuse_unusable(self) -> None:
        """Look at the file without changing it."""
        ReadStorage(self.path).close()
        _refuse_read_only(self.path)

    def _clear_running(self) -> None:
        """Say that nothing runs before a study is run, or after."""
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

        While a reader is active, it waits for the next occasion, not for the reader.
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


def _rows(entries: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    return [(key, _storable(json.dumps(value))) for key, value in entries.items()]


def _storable(text: str | None) -> str | None:
    """Text without half characters, which no file can hold."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
