"""Torn, damaged and crafted study files: each is read, or refused by one clear message, in time."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from surefoot import Study, StudyReader, verify
from tests.chaos.trial import Trial, apart
from tests.view.dashboard.studies import create, finished_study, linear

SECONDS = 60.0
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
STATEMENTS = [
    "UPDATE study SET value = 'nonsense' WHERE key = '{key}'",
    "UPDATE study SET value = 'null' WHERE key = '{key}'",
    "UPDATE study SET value = '{{}}' WHERE key = '{key}'",
    "UPDATE study SET value = '[1, 2]' WHERE key = '{key}'",
    "UPDATE study SET value = '1e999' WHERE key = '{key}'",
    "UPDATE study SET value = 'NaN' WHERE key = '{key}'",
    "UPDATE study SET value = x'80ff00' WHERE key = '{key}'",
    "DELETE FROM study WHERE key = '{key}'",
    "UPDATE pulls SET {column} = NULL WHERE id % 3 = 0",
    "UPDATE pulls SET {column} = 'nonsense' WHERE id % 3 = 0",
    "UPDATE pulls SET {column} = 9223372036854775807 WHERE id = 1",
    "UPDATE pulls SET {column} = -1 WHERE id = 1",
    "UPDATE pulls SET {column} = x'80ff00' WHERE id = 1",
    "UPDATE pulls SET {column} = 1e300",
    "DELETE FROM pulls WHERE id % 2",
    "DELETE FROM phases WHERE phase = 0",
    "UPDATE phases SET pulls = 9223372036854775807",
    "UPDATE phases SET first_pull = -5",
    "UPDATE phases SET {note} = 'nonsense'",
    "UPDATE phases SET {note} = '{{}}'",
    "UPDATE phases SET {proof} = x'80ff00'",
    "UPDATE phases SET {proof} = NULL",
    "UPDATE phases SET {proof} = 'nonsense' WHERE phase = 0",
    "UPDATE phases SET {proof} = zeroblob(32)",
    "UPDATE simulators SET source = 'nonsense'",
    "UPDATE simulators SET source = '[1]'",
    """UPDATE simulators SET source = '{{"asked": 3, "files": null}}'""",
    "UPDATE simulators SET pulls = -1, accepted = x'80ff'",
    "UPDATE simulators SET pulls = 'many', since = x'00'",
    "UPDATE pulls SET simulator = 99",
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO other",
    "PRAGMA user_version = 99",
    "PRAGMA application_id = 7",
]
KEYS = [
    *("id", "name", "problem", "settings", "algorithm", "options", "direction", "seed"),
    *("versions", "state", "message", "result", "created"),
    *("boundary", "head", "fingerprint", "on_identical"),
]
PROOF = ["commitment", "plan", "link", "rewards", "limits", "closing"]
COLUMNS = ["pair", "phase", "state", "reward", "attempts", "losses", "started", "finished", "error"]


def damaged(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Bytes and lengths that are not what they were."""
    sources = _studies(folder)
    for number in range(count):
        source = sources[number % len(sources)]
        content = bytearray(source.read_bytes())
        what = "cut"
        if generator.random() < 0.3:
            content = content[: int(generator.integers(len(content)))]
        else:
            what = "bytes changed"
            for place in generator.integers(len(content), size=int(generator.integers(1, 60))):
                content[int(place)] = int(generator.integers(256))
        yield _read(folder, bytes(content), f"{source.name}: {what}")


def crafted(count: int, folder: Path, generator: np.random.Generator) -> Iterator[Trial]:
    """Contents that nobody would write by accident."""
    sources = _studies(folder)
    for number in range(count):
        source, copy = sources[number % len(sources)], folder / "crafted.db"
        shutil.copy(source, copy)
        statements = _statements(number, generator)
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            for statement in statements:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute(statement)
            connection.commit()
        yield _read(folder, copy.read_bytes(), f"{source.name}: {'; '.join(statements)}")


def _studies(folder: Path) -> list[Path]:
    """A finished study and one in its middle."""
    done, begun = folder / "done.db", folder / "begun.db"
    if not done.exists():
        finished_study(done)
        with create(begun) as study:
            study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
            study.ask()
    return [done, begun]


def _statements(number: int, generator: np.random.Generator) -> list[str]:
    table = ["study", "phases", "pulls"][number % 3]
    if number % 6 == 0:
        with_endless = f"CREATE VIEW {table} AS {ENDLESS.format('x AS id, x AS key, x AS value')}"
        return [f"ALTER TABLE {table} RENAME TO other", with_endless]
    fields = {
        "key": generator.choice(KEYS),
        "column": generator.choice(COLUMNS),
        "note": generator.choice(["summary", "planned", "finished", "phase"]),
        "proof": generator.choice(PROOF),
        "table": table,
    }
    chosen = generator.choice(STATEMENTS, size=int(generator.integers(1, 3)), replace=False)
    return [str(statement).format(**fields) for statement in chosen]


def _read(folder: Path, content: bytes, what: str) -> Trial:
    path = folder / "tried.db"
    for old in folder.glob("tried.db*"):
        old.unlink()
    path.write_bytes(content)
    return Trial(what, apart(lambda: _look(path), SECONDS) or apart(lambda: _go_on(path), SECONDS))


def _look(path: Path) -> None:
    verify(path)
    with StudyReader(path) as reader:
        reader.status()
        reader.pulls()
        reader.phases()
        reader.failures()
        reader.pulls_per_minute()
        str(reader.recorded)
        str(reader.result)


def _go_on(path: Path) -> None:
    with Study.open(path) as study:
        if not study.done:
            study.run(linear, "serial")
