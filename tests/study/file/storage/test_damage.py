"""Damaged and crafted study files end in one sentence, whatever part of them is damaged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.view.report import study_page
from tests.study.toys import linear, open_toy, read_toy, toy_study

COLUMNS = {
    "study": ["key", "value"],
    "phases": [
        *("phase", "first_pull", "pulls", "batches", "shared"),
        *("planned", "finished", "summary"),
    ],
    "pulls": ["pair", "phase", "reward", "attempts", "losses", "started", "finished", "error"],
    "running": ["since", "worker"],
    "corrections": ["pull", "was", "became", "time"],
}
WRONG = [None, -1, 2**62, float("inf"), "x", b"\xff\x00"]
WRONG_JSON = ["{", "null", "[]", "{}", "1e999", "[" * 5000]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A finished study, and one on the way with a correction."""
    folder = tmp_path_factory.mktemp("whole")
    with toy_study(folder / "finished.db") as study:
        study.run(linear, "serial")
    with toy_study(folder / "open.db") as study:
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        study.tell(study.ask(1)[0], 0.5)
        study.correct(study.told - 1, 0.25)
    return {name: (folder / f"{name}.db").read_bytes() for name in ("finished", "open")}


def lay(path: Path, content: bytes) -> None:
    """Write a study file where another was, which leaves nothing beside it."""
    path.write_bytes(content)
    for left in ("-wal", "-shm"):
        path.with_name(path.name + left).unlink(missing_ok=True)


def use(path: Path) -> None:
    """Do everything that can be done with a study file; what is refused is refused in words."""
    with suppress(InputError), read_toy(path) as reader:
        for look in (
            reader.status,
            reader.pulls,
            reader.phases,
            reader.failures,
            reader.corrections,
            reader.pulls_per_minute,
            lambda: reader.recorded,
            lambda: reader.result,
        ):
            with suppress(InputError):
                look()
    with suppress(InputError), open_toy(path) as study:
        for pull in study.ask(2):
            study.tell(pull, linear(pull))


def change(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    try:
        connection.execute(statement, values)
        connection.commit()
    except sqlite3.Error:  # what SQLite itself does not let happen
        pass
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["finished", "open"])
@pytest.mark.parametrize("table", COLUMNS)
def test_wrong_values_in_any_column(
    tmp_path: Path, files: dict[str, bytes], table: str, kind: str
) -> None:
    path = tmp_path / "study.db"
    for column in COLUMNS[table]:
        for value in WRONG:
            lay(path, files[kind])
            last = f"rowid = (SELECT max(rowid) FROM {table} WHERE rowid < 30)"
            where = "key = 'state'" if table == "study" else last
            change(path, f"UPDATE {table} SET {column} = ? WHERE {where}", value)
            use(path)


def test_wrong_json_in_any_entry_and_note(tmp_path: Path, files: dict[str, bytes]) -> None:
    kind = "finished"
    path = tmp_path / "study.db"
    lay(path, files[kind])
    connection = sqlite3.connect(path)
    keys = [row[0] for row in connection.execute("SELECT key FROM study")]
    connection.close()
    for text in WRONG_JSON:
        for key in keys:
            lay(path, files[kind])
            change(path, "UPDATE study SET value = ? WHERE key = ?", text, key)
            use(path)
        lay(path, files[kind])
        change(path, "UPDATE phases SET summary = ? WHERE summary IS NOT NULL", text)
        use(path)
    for key in keys:
        lay(path, files[kind])
        change(path, "DELETE FROM study WHERE key = ?", key)
        use(path)


def mutations(value: Any) -> list[Callable[[], Any]]:
    """Ways to spoil a JSON value: each gives it with one part replaced."""
    ways: list[Callable[[], Any]] = []
    if isinstance(value, dict):
        for key, part in value.items():
            ways += [lambda k=key, w=w: value | {k: w()} for w in mutations(part)]
            ways.append(lambda k=key: {name: v for name, v in value.items() if name != k})
    elif isinstance(value, list) and value:
        ways += [lambda w=w: [w(), *value[1:]] for w in mutations(value[0])]
        ways.append(lambda: value[1:])
    else:
        ways += [lambda v=v: v for v in (None, -1, 10**400, "x", [])]
    return ways


def test_values_spoilt_deep_inside_the_question(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "study.db"
    for key in ("problem", "settings", "options", "versions", "result", "seed", "configuration"):
        lay(path, files["finished"])
        connection = sqlite3.connect(path)
        (text,) = connection.execute("SELECT value FROM study WHERE key = ?", (key,)).fetchone()
        connection.close()
        for spoilt in mutations(json.loads(text)):
            lay(path, files["finished"])
            change(path, "UPDATE study SET value = ? WHERE key = ?", json.dumps(spoilt()), key)
            use(path)


def test_bytes_spoilt_anywhere(tmp_path: Path, files: dict[str, bytes]) -> None:
    generator = np.random.default_rng(5)
    path = tmp_path / "study.db"
    for trial in range(60):
        content = bytearray(files["finished" if trial % 2 else "open"])
        start = int(generator.integers(0, 100 if trial % 5 == 0 else len(content)))
        length = int(generator.choice([1, 4, 64, 4096]))
        spoilt = generator.bytes(len(content[start : start + length]))
        content[start : start + length] = spoilt
        lay(path, content)
        use(path)


def test_files_cut_anywhere(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "study.db"
    for length in (0, 1, 99, 100, 511, 512, 4095, 4096, 8192, 20_000):
        lay(path, files["finished"][:length])
        use(path)


def test_a_damaged_study_is_not_reported(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "study.db"
    lay(path, files["finished"])
    change(path, "UPDATE pulls SET reward = 'much' WHERE id = 3")
    with read_toy(path) as reader, pytest.raises(InputError, match="damaged"):
        study_page(reader)
