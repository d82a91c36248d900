"""Queries on a study file."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter, lt
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError, StudyFileError
from surefoot.study.file.chain import fingerprint_of
from surefoot.study.file.encoding import unpacked
from surefoot.study.file.storage import connection, schema
from surefoot.study.file.storage.connection import wal_of, writer_of, written_since
from surefoot.study.file.storage.records import Ending, PullCounts, Running, StoredPhase
from surefoot.study.provenance import (
    FailureCounts,
    Origin,
    Simulators,
    Source,
    UsedSimulator,
    origins_bytes,
)
from surefoot.system.drafts import new_file

Row = tuple[Any, ...]
AT_A_TIME = 50_000  # pulls
BREAK = 600.0  # seconds without a reward, where rewards come quickly, in which no run was active

PULL_COLUMNS = {
    "id": int,
    "phase": int,
    "pair": int,
    "state": str,
    "reward": float,
    "cost": float,
    "others": str,
    "simulator": int,
    "attempts": int,
    "losses": int,
    "started": float,
    "finished": float,
    "error": str,
}
PHASE_COLUMNS = {
    "phase": int,
    "first_pull": int,
    "pulls": int,
    "planned": float,
    "finished": float,
    "batches": int,
    "shared": int,
    "overlaps": int,
    "told": int,
    "spent": float,
}
CORRECTION_COLUMNS = {
    "pull": int,
    "was": float,
    "became": float,
    "others_were": str,
    "others_became": str,
    "time": float,
}
LOG_COLUMNS = {"time": float, "text": str}
FAILURE_COLUMNS = {
    name: PULL_COLUMNS[name]
    for name in ("id", "pair", "state", "attempts", "losses", "started", "error")
}


class ReadStorage:
    """A study file opened for reading. Readers never block the writer, nor each other."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        schema.refuse_no_database(self.path)
        with self._explained():
            self._connection = self._connected()

    def _connected(self) -> connection.Connection:
        opened: connection.Connection | None = None
        try:
            opened = connection.connect_read_only(self.path)
            schema.check(self.path, opened)
        except BaseException as error:
            if opened is not None:
                opened.close()
            if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
                raise schema.no_database(self.path) from None
            raise
        return opened

    def close(self) -> None:
        """Close the file, and leave nothing beside it."""
        self._connection.close()
        if writer_of(self.path) is None:
            connection.tidy(self.path.resolve())

    def entries(self, *keys: str) -> dict[str, Any]:
        """Return these values of the table `study`, or all of them."""
        marks = ", ".join("?" * len(keys))
        chosen = f" WHERE key IN ({marks})" if keys else ""
        rows = self._rows(f"SELECT key, value FROM study{chosen}", keys)
        with self._explained():
            return {key: json.loads(value) for key, value in rows}

    def phases(self, since: int = 0) -> Iterator[StoredPhase]:
        """Yield the phases in order, from the given one, each with its pulls."""
        for index, first, count, batches, shared, overlaps, *proof in self._layouts(since):
            found = self._table(
                "SELECT pair, reward FROM pulls WHERE id >= ? AND id < ? ORDER BY id",
                (int, float),
                first,
                first + count,
            )
            if len(found) != count:
                raise StudyFileError(
                    f"{self.path} is damaged: phase {index} has {len(found)} pulls "
                    f"instead of {count}; restore a copy"
                )
            with self._explained():
                pairs = np.array(list(map(itemgetter(0), found)), dtype=np.int64)
                # no reward (None) becomes NaN
                rewards = np.array(list(map(itemgetter(1), found)), dtype=np.float64)
                commitment, plan, link, end = _proof(*proof)
            others, costs = self._said_beside(first, count)
            pulled, layout = (pairs, rewards, others), (batches, shared == 1, overlaps)
            made = commitment, plan, link
            origins = self.origins(first, count) if end else b""
            yield StoredPhase(index, first, *pulled, *layout, *made, end, costs, origins)

    def origins(self, first: int, count: int) -> bytes:
        """Return the origins of the rewards of so many pulls, as canonical bytes."""
        return origins_bytes(self._origins(first, first + count))

    def _origins(self, first: int, end: int) -> list[Origin]:
        rows = self._table(
            "SELECT pair, coalesce(simulator, 0), count(*), "
            "sum(error IS NOT NULL AND attempts > 1), "
            "sum(error IS NOT NULL AND attempts = 1 AND error NOT LIKE 'lost:%') "
            "FROM pulls WHERE id >= ? AND id < ? AND state = 'done' GROUP BY pair, simulator",
            (int,) * 5,
            first,
            end,
            filled=5,
        )
        return [Origin(*row) for row in rows]

    def _said_beside(self, first: int, count: int) -> tuple[list[str], Array]:
        """Return further outputs and costs of some pulls, which most studies do not have."""
        others, costs = [""] * count, np.full(count, np.nan)
        rows = self._table(
            "SELECT id, others, cost FROM pulls WHERE id >= ? AND id < ? "
            "AND (others IS NOT NULL OR cost IS NOT NULL)",
            (int, str, float),
            first,
            first + count,
        )
        for number, text, cost in rows:
            others[number - first] = text or ""
            costs[number - first] = np.nan if cost is None else cost
        return others, costs

    def _layouts(self, since: int) -> list[Row]:
        """Number, first pull, size, layout, overlaps and proof of each phase."""
        rows = self._table(
            "SELECT phase, first_pull, pulls, batches, shared, overlaps, commitment, plan, link, "
            "rewards, limits, closing FROM phases WHERE phase >= ? ORDER BY phase",
            (*(int,) * 6, *(bytes,) * 6),
            since,
            filled=6,
        )
        for index, _, count, batches, shared, overlaps, *_ in rows:
            if not 0 <= batches <= count or shared not in (0, 1) or not 0 <= overlaps <= index:
                raise StudyFileError(
                    f"{self.path} is damaged: phase {index} of {count} pulls has {batches} batches "
                    f"and shares {shared} streams, beside {overlaps} others; restore it from a copy"
                )
        return rows

    def notes(self, since: int = 0) -> list[str]:
        """Return the notes of all phases that have one, from the given one."""
        rows = self._table(
            "SELECT summary FROM phases WHERE summary IS NOT NULL AND phase >= ? ORDER BY phase",
            (str,),
            since,
        )
        return [row[0] for row in rows]

    def last_note(self) -> str | None:
        """Return the note of the last complete phase; its result if there was no phase."""
        found = self._rows(
            "SELECT summary FROM phases WHERE summary IS NOT NULL ORDER BY phase DESC LIMIT 1"
        ) or self._rows("SELECT value FROM study WHERE key = 'result'")
        return found[0][0] if found else None

    def counts(self) -> PullCounts:
        """Count the pulls in each state."""
        rows = self._table(
            "SELECT phase, pulls, told, closing IS NULL, spent FROM phases ORDER BY phase",
            (int, int, int, int, float),
            filled=5,
        )
        open_ = [row for row in rows if row[3]]
        phase, size, told, *_ = (*open_, *rows[-1:], (0, 0, 0, 1, 0.0))[0]
        return PullCounts(
            phase=phase,
            phase_pulls=size,
            phase_told=told,
            open_pulls=sum(row[1] for row in open_),
            open_told=sum(row[2] for row in open_),
            told=sum(row[2] for row in rows),
            asked=self._number("SELECT count(*) FROM pulls WHERE state = 'asked'"),
            failed=self._number("SELECT count(*) FROM pulls WHERE state = 'failed'"),
            retried=self._number(
                "SELECT count(*) FROM pulls WHERE error IS NOT NULL AND state <> 'failed' "
                "AND attempts > (state = 'done')"
            ),
            lost=self._number("SELECT count(*) FROM pulls WHERE error IS NOT NULL AND losses > 0"),
            spent=sum(row[4] for row in rows),
        )

    def asked(self) -> set[int]:
        """Return the pulls handed out by `surefoot ask` whose reward is not told yet."""
        return {row[0] for row in self._rows("SELECT id FROM pulls WHERE state = 'asked'")}

    def last_reward(self) -> float | None:
        """When the latest reward came, in seconds since 1970."""
        query = "SELECT max(finished) FROM pulls WHERE finished IS NOT NULL"
        latest: float | None = self._table(query, (float,))[0][0]
        return latest

    def recent_rate(self, rewards: int = 200) -> float | None:
        """Return the rewards per minute over the latest ones of the process that is writing, if
        there is one, since the last break or jump of the clock.
        """
        rows = self._table(
            "SELECT finished FROM pulls WHERE finished BETWEEN ? AND ? "
            "ORDER BY finished DESC LIMIT ?",
            (float,),
            written_since(self.path),
            time.time() + 1,  # a clock that was ahead and set right has left times to come
            rewards,
        )
        times = np.array([row[0] for row in rows], dtype=np.float64)
        gaps = times[:-1] - times[1:]
        breaks = np.flatnonzero(gaps > max(BREAK, 20 * np.median(gaps)) if len(gaps) else [])
        if len(breaks):
            gaps = gaps[: breaks[0]]
        return float(60 * len(gaps) / gaps.sum()) if gaps.sum() > 0 else None

    def durations(self, most: int) -> list[Row]:
        """Return pair and seconds of pulls that were simulated here, of closed phases alone: those
        of open ones that are back are the short ones.
        """
        return self._table(
            "SELECT pair, finished - started FROM pulls WHERE started <= finished "
            "AND simulator IS NOT NULL AND phase < coalesce((SELECT min(phase) FROM phases "
            "WHERE closing IS NULL), (SELECT count(*) FROM phases)) ORDER BY id DESC LIMIT ?",
            (int, float),
            most,
            filled=2,
        )

    def rewards_by_minute(self, since: float) -> list[Row]:
        """Return the beginning of each minute that had any rewards, and how many."""
        return self._rows(
            "SELECT CAST(finished / 60 AS INTEGER) * 60 AS minute, count(*) FROM pulls "
            "WHERE finished IS NOT NULL AND finished >= ? GROUP BY minute ORDER BY minute",
            (since,),
        )

    def pull_rows(self, since: int = 0, limit: int | None = None) -> list[Row]:
        """Return the pulls from the given number, as PULL_COLUMNS."""
        rows = self._table(
            f"SELECT {', '.join(PULL_COLUMNS)} FROM pulls WHERE id >= ? ORDER BY id LIMIT ?",
            tuple(PULL_COLUMNS.values()),
            since,
            -1 if limit is None else limit,
            filled=4,
        )
        numbers = [since - 1, *(row[0] for row in rows)]
        if not all(map(lt, numbers, numbers[1:])):  # or reading it in parts might never end
            raise StudyFileError(
                f"{self.path} is damaged: its pulls are not in the order of their numbers; restore "
                "it from a copy"
            )
        return rows

    def pull_blocks(self, since: int = 0, limit: int | None = None) -> Iterator[list[Row]]:
        """Yield the rows of `pulls` in blocks, all as they are at one moment."""
        left = math.inf if limit is None else limit
        with self._one_moment():
            while left > 0 and (rows := self.pull_rows(since, int(min(left, AT_A_TIME)))):
                yield rows
                since, left = rows[-1][0] + 1, left - len(rows)

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        """Let all reads in this block see one moment, without writes meanwhile."""
        with self._explained():
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with self._explained():
                self._connection.execute("COMMIT")

    def output_names(self) -> list[str]:
        """Return the names of all further outputs that any pull had, in the order of letters."""
        query = "SELECT DISTINCT key FROM pulls, json_each(others) WHERE others IS NOT NULL"
        return sorted(row[0] for row in self._table(query, (str,), filled=1))

    def phase_rows(self) -> list[Row]:
        """Return the phases as PHASE_COLUMNS, and after these the note."""
        return self._table(
            f"SELECT {', '.join(PHASE_COLUMNS)}, summary FROM phases ORDER BY phase",
            (*PHASE_COLUMNS.values(), str),
        )

    def failure_rows(self, limit: int) -> list[Row]:
        """Return the latest pulls with an error, as FAILURE_COLUMNS."""
        return self._table(
            f"SELECT {', '.join(FAILURE_COLUMNS)} FROM pulls WHERE error IS NOT NULL "
            "ORDER BY id DESC LIMIT ?",
            tuple(FAILURE_COLUMNS.values()),
            limit,
        )

    def running(self) -> list[Running]:
        """Return the pulls that are being simulated, as the writer last said."""
        query = "SELECT pull, since, worker FROM running ORDER BY since, pull"
        return [Running(*row) for row in self._table(query, (int, float, str))]

    def correction_rows(self) -> list[Row]:
        """Return the corrections as CORRECTION_COLUMNS, in the order in which they were made."""
        return self._table(
            f"SELECT {', '.join(CORRECTION_COLUMNS)} FROM corrections ORDER BY id",
            tuple(CORRECTION_COLUMNS.values()),
        )

    def simulators(self) -> Simulators:
        """Return the simulators of the study, in the order of their first use."""
        rows = self._table(
            "SELECT id, since, pulls, source, accepted FROM simulators ORDER BY id",
            (int, int, int, str, str),
            filled=4,
        )
        with self._explained():
            return Simulators(
                UsedSimulator(number, Source.from_dict(json.loads(source)), since, pulls, accepted)
                for number, since, pulls, source, accepted in rows
            )

    def tries(self) -> FailureCounts:
        """Return how often pulls of closed phases failed before they gave a reward."""
        if not self._number("SELECT count(*) FROM pulls WHERE error IS NOT NULL"):
            return FailureCounts()
        closed = self._number(
            "SELECT coalesce(max(first_pull + pulls), 0) FROM phases WHERE closing IS NOT NULL"
        )
        return FailureCounts.of(self._origins(0, closed), self.simulators().first)

    def check_simulators(self) -> None:
        """Refuse pulls whose simulators disagree with the stored list."""
        if not self._has_true_marks:
            raise StudyFileError(
                f"{self.path} is damaged: its rewards are marked with other simulators than it "
                "lists; restore it from a copy"
            )

    @property
    def _has_true_marks(self) -> bool:
        """True if each simulator gave as many rewards as it is said to have given."""
        wrong = self._number(
            "SELECT (SELECT count(*) FROM simulators AS one WHERE one.pulls <> "
            "(SELECT count(*) FROM pulls WHERE simulator = one.id AND state = 'done')) + "
            "(SELECT count(*) FROM pulls WHERE simulator IS NOT NULL AND "
            "simulator NOT IN (SELECT id FROM simulators))"
        )
        return wrong == 0

    @property
    def is_signed(self) -> bool:
        """True if the stored fingerprint is that of the last phase and of the simulators."""
        with self._one_moment():
            if self.entries("fingerprint").get("fingerprint") != self._fingerprint:
                return False
            return len(self.simulators()) < 2 or self._has_true_marks

    @property
    def _fingerprint(self) -> str:
        last = "SELECT closing FROM phases WHERE closing IS NOT NULL ORDER BY phase DESC LIMIT 1"
        found = self._table(last, (bytes,))
        with self._explained():
            latest = found[0][0] if found else bytes.fromhex(self.entries("head")["head"])
            return fingerprint_of(latest, self.simulators())

    def log_rows(self) -> list[Row]:
        """Return the log as LOG_COLUMNS, in the order in which it was written."""
        return self._table(
            f"SELECT {', '.join(LOG_COLUMNS)} FROM log ORDER BY id", tuple(LOG_COLUMNS.values())
        )

    def copy_to(self, path: Path) -> None:
        """Write everything that is stored at this moment to a new file."""
        try:
            with new_file(path) as draft:
                connection.copy(self._connection, draft)
        except FileExistsError:
            raise StudyFileError(
                f"{path} exists already, and is not replaced: give another name"
            ) from None
        except (OSError, sqlite3.Error) as error:
            raise StudyFileError(
                f"{path} cannot be written ({error}): choose another place"
            ) from None

    def check_pages(self) -> None:
        """Refuse a file of which a part is missing or was overwritten, wherever it lies."""
        verdict = " ".join(str(self._rows("PRAGMA quick_check(1)")[0][0]).split())
        if verdict != "ok":
            raise StudyFileError(f"{self.path} is damaged ({verdict:.100}): restore it from a copy")

    def state_of_file(self) -> tuple[int, ...]:
        """Numbers that change whenever anybody may have changed anything."""
        files = [file for file in (self.path, wal_of(self.path.resolve())) if file.exists()]
        stats = [file.stat() for file in files]
        times = [number for stat in stats for number in (stat.st_mtime_ns, stat.st_size)]
        return (self._number("PRAGMA data_version"), *times)

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._explained():
            return self._connection.rows(query, values)

    def _table(self, query: str, kinds: Sequence[type], *values: Any, filled: int = 0) -> list[Row]:
        """Return the rows of a query whose columns are of these types, or NULL but for the first so
        many: SQLite itself takes any.
        """
        rows = self._rows(query, values)
        for place, kind in enumerate(kinds):
            allowed = {kind} if place < filled else {kind, NoneType}
            if not set(map(type, map(itemgetter(place), rows))) <= allowed:
                raise StudyFileError(
                    f"{self.path} is damaged: there is no {kind.__name__} where one should be; "
                    "restore it from a copy"
                )
        return rows

    def _number(self, query: str, *values: Any) -> int:
        with self._explained():
            return int(self._rows(query, values)[0][0])

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Explain SQLite's errors, and values that were not written like this, with the remedy."""
        try:
            yield
        except InputError:
            raise
        except sqlite3.Error as error:
            raise connection.explain(self.path, error) from error
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise StudyFileError(
                f"{self.path} is damaged ({type(error).__name__}: {error!s:.100}): restore it from "
                "a copy"
            ) from error


def _proof(
    commitment: bytes,
    plan: bytes,
    link: bytes,
    rewards: bytes | None,
    limits: bytes | None,
    closing: bytes | None,
) -> tuple[bytes, bytes, bytes, Ending | None]:
    """Return the proof stored before a phase, and its ending if it is closed."""
    ending = None
    if rewards is not None and limits is not None and closing is not None:
        ending = Ending(rewards, unpacked(limits), closing)
    return unpacked(commitment), plan, link, ending
