"""What its one writer stores in a study file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surefoot.study.file.errors import StudyFileError
from surefoot.study.file.proof.encoding import packed
from surefoot.study.file.storage.durable import DurableStorage
from surefoot.study.file.storage.records import Ending, StoredPhase
from surefoot.study.pull import Report


class WriteStorage(DurableStorage):
    """The phases, pulls, rewards and corrections of a study, each change whole or not at all."""

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
                "INSERT INTO phases (phase, first_pull, pulls, batches, shared, planned, "
                "commitment, plan, link) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(index, first, len(pairs), phase.batches, int(phase.shared), time.time()),
                    *(packed(phase.commitment), phase.plan, phase.link),
                ),
            )
            self._connection.executemany(
                "INSERT INTO pulls (id, phase, pair) VALUES (?, ?, ?)",
                ((first + k, index, pair) for k, pair in enumerate(pairs.tolist())),
            )
        self._shorten_wal()

    def finish_phase(self, index: int, note: str, ending: Ending) -> None:
        """Close a phase: store what is known after it, and the proof of it, all at once."""
        with self._transaction():
            self._connection.execute(
                "UPDATE phases SET finished = coalesce(finished, ?), summary = ?, rewards = ?, "
                "limits = ?, closing = ? WHERE phase = ?",
                (time.time(), note, ending.rewards, packed(ending.limits), ending.closing, index),
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO study VALUES ('fingerprint', ?)",
                (json.dumps(ending.closing.hex()),),
            )

    def change_note(self, index: int, note: str) -> None:
        """Store what became known after a phase was closed."""
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

    def record(self, reports: Sequence[Report], final_failure: int | None = None) -> None:
        """Store what came of pulls in one transaction; a reward that is there already stays.

        Args:
            final_failure: a pull that will not be tried again, so that the study pauses.
        """
        told = [(r.reward, r.started, r.finished, r.id) for r in reports if r.reward is not None]
        failed = [(r.started, _storable(r.error), r.id) for r in reports if r.reward is None]
        with self._transaction():
            stored = self._connection.executemany(
                "UPDATE pulls SET state = 'done', reward = ?, attempts = attempts + 1, "
                "started = ?, finished = ? WHERE id = ? AND state <> 'done'",
                told,
            )
            if told and stored.rowcount != len(told):
                raise StudyFileError(
                    f"{self.path} was changed by another program while it was open: nothing was "
                    "stored; close it there and run the study again"
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

    def correct(self, was: Mapping[int, float], became: Mapping[int, float]) -> None:
        """Replace rewards, and keep what they were."""
        now = time.time()
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET reward = ? WHERE id = ?",
                [(reward, number) for number, reward in became.items()],
            )
            self._connection.executemany(
                "INSERT INTO corrections (pull, was, became, time) VALUES (?, ?, ?, ?)",
                [(number, was[number], reward, now) for number, reward in became.items()],
            )

    def record_losses(self, numbers: Iterable[int], error: str) -> None:
        """Count pulls whose worker died; they will be pulled again."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE pulls SET losses = losses + 1, error = ? WHERE id = ?",
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


def _rows(entries: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    return [(key, _storable(json.dumps(value))) for key, value in entries.items()]


def _storable(text: str | None) -> str | None:
    """Text without half characters, which no file can hold."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
