"""Damaged and crafted study files end in one sentence, whatever part of them is damaged; so do full
disks and read-only places.
"""

from __future__ import annotations

import json
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.study import Study, StudyFileError, StudyReader
from surefoot.study.file.storage import WriteStorage, schema
from surefoot.view.report import study_page
from tests.study.make_fixture import PATH, TOLD
from tests.study.toys import Rounds, linear, open_toy, read_toy, rewards_of, same_result, toy_study

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


SENSELESS = np.random.default_rng(1).bytes


def refuse(path: Path, words: str) -> None:
    """Both ways of opening say so, and the file keeps every byte."""
    before = path.read_bytes()
    with pytest.raises(StudyFileError, match=words):
        open_toy(path)
    with pytest.raises(StudyFileError, match=words):
        read_toy(path).pulls()
    assert path.read_bytes() == before


def test_a_missing_file(path: Path) -> None:
    with pytest.raises(StudyFileError, match="there is no file"):
        Study.open(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"pull,reward\n0,1.5\n", SENSELESS(5000)])
def test_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refuse(path, "is no SQLite database")


def test_a_database_of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE pulls (id INTEGER)")
    connection.close()
    refuse(path, "another program")


@pytest.mark.parametrize("version", [0, schema.FORMAT + 1])
def test_another_format(path: Path, version: int) -> None:
    toy_study(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    refuse(path, f"has format {version}, .* reads format 1: open it with the version that made it")


def test_a_damaged_file(path: Path) -> None:
    with toy_study(path, size=50) as study:
        study.run(linear, "serial")
    content = bytearray(path.read_bytes())
    content[8192:-4096] = SENSELESS(len(content) - 8192 - 4096)
    path.write_bytes(content)
    refuse(path, "damaged")


def test_a_truncated_file(path: Path) -> None:
    with toy_study(path, size=50) as study:
        study.run(linear, "serial")
    path.write_bytes(path.read_bytes()[:9000])
    refuse(path, "damaged")


def test_a_file_without_its_entries(path: Path) -> None:
    toy_study(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM study WHERE key = 'problem'")
    connection.close()
    with pytest.raises(StudyFileError, match="lacks problem"):
        open_toy(path)


def test_a_read_only_file_can_be_read(path: Path) -> None:
    with toy_study(path) as study:
        study.tell(0, 1.0)
    path.chmod(0o444)
    with pytest.raises(StudyFileError, match="read-only"):
        open_toy(path)
    with read_toy(path) as reader:
        assert reader.status().told == 1


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match="there is no folder"):
        toy_study(tmp_path / "nowhere" / "toy.db")


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """The system refuses to let any file grow beyond the limit: what a quota does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_refuses_to_write(path: Path) -> None:
    with toy_study(path) as study:
        study.tell(0, 1.0)
        size = path.with_name("toy.db-wal").stat().st_size
        with small_files(size + 100), pytest.raises(StudyFileError, match="check space, quota"):
            study.tell(1, 2.0)
        assert study.told == 1
        study.tell(1, 3.0)
    assert [reward for *_, reward in rewards_of(path)[:2]] == [1.0, 3.0]


def test_a_full_disk_while_running(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with toy_study(tmp_path / "straight.db", size=50) as study:
        expected = study.run(linear, "serial")
    toy_study(path, size=50).close()
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1]
    )
    with open_toy(path, size=50) as study:
        disk = opened[-1]
        pages = disk.execute("PRAGMA page_count").fetchone()[0]
        disk.execute(f"PRAGMA max_page_count = {pages + 4}")  # now the disk is full
        with pytest.raises(StudyFileError, match="the disk is full: free some space"):
            study.run(linear, "serial")
        stored = study.told
        disk.execute("PRAGMA max_page_count = 1000000")
    assert 0 < stored < expected.samples
    with open_toy(path, size=50) as study:
        assert study.told == stored
        assert same_result(study.run(linear, "serial"), expected)


def test_a_disk_that_fills_at_the_end_of_a_phase(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last reward is stored, what follows from it is not: the same object goes on once there is
    space.
    """
    with toy_study(tmp_path / "straight.db") as study:
        expected = study.run(linear, "serial")
    with toy_study(path) as study:
        pulls = study.ask(16)
        study.tell_many([(pull.id, linear(pull)) for pull in pulls[:-1]])
        with monkeypatch.context() as full:
            full.setattr(WriteStorage, "finish_phase", _refuses)
            with pytest.raises(StudyFileError, match="the disk is full"):
                study.tell(15, linear(pulls[-1]))
        assert study.told == 16
        assert same_result(study.run(linear, "serial"), expected)


def _refuses(*_: object) -> None:
    raise StudyFileError("the disk is full")


def test_creation_is_all_or_nothing(path: Path) -> None:
    with small_files(10_000), pytest.raises(StudyFileError, match="cannot be written"):
        toy_study(path)
    assert list(path.parent.iterdir()) == []


def test_a_file_of_this_format_opens_for_ever(tmp_path: Path) -> None:
    copy = tmp_path / "old.db"
    shutil.copy(PATH, copy)
    with StudyReader(copy, algorithm=Rounds()) as reader:
        assert reader.status().told == TOLD
        assert reader.description.seed == 11
        assert len(reader.phases()) == 2
    with open_toy(copy) as old, toy_study(tmp_path / "new.db") as new:
        result = old.run(linear, "serial")
        assert result.samples == new.run(linear, "serial").samples == 56
        assert result.arm == new.result.arm
        assert result.theta == pytest.approx(new.result.theta, rel=1e-12)


def test_the_file_on_disk_is_whole_before_the_next_pull(path: Path) -> None:
    """A reader in another process sees each reward as soon as tell has returned."""
    query = "SELECT count(*) FROM pulls WHERE reward IS NOT NULL"
    count = (
        f"import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('{query}').fetchone()[0])"
    )
    with toy_study(path) as study:
        for told in (1, 2):
            study.tell(told - 1, 1.0)
            seen = subprocess.run(
                [sys.executable, "-c", count, str(path)], capture_output=True, text=True, check=True
            )
            assert int(seen.stdout) == told


def test_a_reader_does_not_hold_up_the_writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reader in the middle of reading, the WAL is not shortened, and writing goes on at
    once.
    """
    monkeypatch.setattr("surefoot.study.file.storage.writing.WAL_LIMIT", 0)
    wal = path.with_name("toy.db-wal")
    with toy_study(path) as study:
        study.tell(0, 1.0)
        assert wal.stat().st_size == 0
        reader = sqlite3.connect(path)
        reading = reader.execute("SELECT * FROM pulls")
        reading.fetchone()
        study.tell(1, 2.0)
        assert wal.stat().st_size > 0
        reading.close()
        reader.close()
        study.tell(2, 3.0)
        assert wal.stat().st_size == 0
    assert [reward for *_, reward in rewards_of(path)[:3]] == [1.0, 2.0, 3.0]


CRAFTED = {
    "view": "DROP TABLE {table}; CREATE VIEW {table} AS WITH RECURSIVE n(x) AS "
    "(SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS key, x AS value FROM n",
    "trigger": "CREATE TRIGGER {table}_t AFTER UPDATE ON {table} BEGIN "
    "INSERT INTO pulls (id, phase, pair) VALUES (9999, 0, 0); END",
    "column": "ALTER TABLE {table} ADD COLUMN other AS (1)",
    "virtual": "CREATE VIRTUAL TABLE {table}_v USING fts5(words)",
}


@pytest.mark.parametrize("table", ["study", "phases", "pulls"])
@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_file_is_refused_at_once(path: Path, kind: str, table: str) -> None:
    toy_study(path).close()
    with sqlite3.connect(path) as connection:
        connection.executescript(CRAFTED[kind].format(table=table))
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    refuse(path, "was not made by surefoot")


def test_a_view_of_ones_own_does_no_harm(path: Path) -> None:
    toy_study(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW best AS SELECT * FROM pulls")
        connection.execute("ANALYZE")
    connection.close()
    with open_toy(path) as study:
        assert study.tell(0, 1.0)


def test_a_tree_whose_branches_all_lead_to_one_leaf_is_given_up(path: Path) -> None:
    """Pages that point to the same page again and again make a small file endless to read."""
    with toy_study(path, rounds=1, size=4000) as study:
        study.tell(0, 1.0)
    content = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'pulls'")
        start = 4096 * (root.fetchone()[0] - 1)
    connection.close()
    assert content[start] == 5  # an interior page of a table
    cells = int.from_bytes(content[start + 3 : start + 5], "big")
    places = [
        int.from_bytes(content[start + 12 + 2 * k : start + 14 + 2 * k], "big")
        for k in range(cells)
    ]
    fan_out(content, start, places)
    path.write_bytes(content)
    with pytest.raises(StudyFileError, match="damaged"), read_toy(path) as reader:
        reader.pulls()
    refuse_writing(path)


def fan_out(content: bytearray, start: int, places: list[int]) -> None:
    """Four levels of interior pages, each with the cells of the root, over the first leaf."""
    leaf = content[start + places[0] : start + places[0] + 4]
    page = bytearray(content[start : start + 4096])
    below = int.from_bytes(leaf, "big")
    for level in range(3):
        for place in places:
            page[place : place + 4] = below.to_bytes(4, "big")
        page[8:12] = below.to_bytes(4, "big")
        target = start // 4096 + 1 if level == 2 else len(content) // 4096 + 1
        if level == 2:
            content[start : start + 4096] = page
        else:
            content += page
        below = target
    content[28:32] = (len(content) // 4096).to_bytes(4, "big")


def refuse_writing(path: Path) -> None:
    with pytest.raises(StudyFileError, match="damaged"):
        open_toy(path, rounds=1, size=4000)
