"""A certificate is what the rewards give, not what the file says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surefoot as sf
from surefoot import cli
from surefoot.study import StudyReader
from surefoot.study.file import follower
from surefoot.study.file.proof import Proof
from surefoot.view.report import study_page
from tests.study.file.test_follower import create, linear
from tests.study.toys import same_result


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("finished") / "study.db"
    with create(path) as study:
        assert study.run(linear, "serial").certified
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, finished: bytes) -> Path:
    path = tmp_path / "study.db"
    path.write_bytes(finished)
    return path


def edit(path: Path, statement: str, *values: Any) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


def edit_notes(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT phase, summary FROM phases WHERE summary IS NOT NULL"
        ).fetchall()
        last = change(json.loads(rows[-1][1]))
        connection.execute(
            "UPDATE phases SET summary = ? WHERE phase = ?", (json.dumps(last), rows[-1][0])
        )
        connection.execute("UPDATE study SET value = ? WHERE key = 'result'", (json.dumps(last),))
    connection.close()


def name_another_arm(path: Path) -> None:
    """Let the notes say that an arm is best which is not."""
    with StudyReader(path) as reader:
        names = reader.problem.arm_names

    def change(note: dict[str, Any]) -> dict[str, Any]:
        other = next(name for name in names if name != note["arm"])
        sentence = note["sentence"].replace(note["arm"], other, 1)
        return note | {"arm": other, "leader": other, "candidates": [other], "sentence": sentence}

    edit_notes(path, change)


def not_certified(path: Path) -> None:
    with StudyReader(path) as reader:
        assert reader.status().certified is False
        assert "with 95 % confidence" not in (reader.status().sentence or "")
        assert reader.recorded.reason is sf.StopReason.NOT_VERIFIED
        assert not reader.recorded.certified
        assert "<td>yes</td>" not in study_page(reader)


def test_a_study_that_nobody_touched_is_certified(path: Path) -> None:
    with StudyReader(path) as reader:
        assert reader.status().certified
        assert reader.recorded.certified
        assert reader.status().sentence == reader.result.sentence


def test_an_edited_note_is_noticed(path: Path) -> None:
    name_another_arm(path)
    not_certified(path)


def test_the_command_line_does_not_believe_an_edited_note(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown() -> str:
        with pytest.raises(SystemExit):
            cli.main(["status", str(path)])
        return " ".join(capsys.readouterr().out.split())

    assert "with 95 % confidence" in shown()
    name_another_arm(path)
    assert "with 95 % confidence" not in shown()
    assert "NOT_VERIFIED" in shown()


def test_an_edited_sentence_is_not_shown(path: Path) -> None:
    edit_notes(path, lambda note: note | {"sentence": "all of them are best"})
    with StudyReader(path) as reader:
        assert "all of them" not in (reader.status().sentence or "")
        assert reader.recorded.certified


def test_altered_rewards_are_noticed(path: Path) -> None:
    edit(path, "UPDATE pulls SET reward = -reward")
    not_certified(path)


def test_a_claim_on_the_way_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "running.db"
    with create(path) as study:
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        assert not study.done
    edit_notes(path, lambda note: note | {"sentence": "X is best, with 95 % confidence"})
    with StudyReader(path) as reader:
        assert "not certified" in (reader.status().sentence or "")
    edit_notes(path, lambda note: note | {"certified": True, "reason": "IDENTIFIED"})
    not_certified(path)


def test_rewards_that_change_under_a_reader_are_noticed(path: Path) -> None:
    with StudyReader(path) as reader:
        assert reader.status().certified
        edit(path, "UPDATE pulls SET reward = reward - 1000 WHERE id < 20")
        assert not reader.status().certified


def test_a_study_is_checked_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs: list[Proof] = []

    class Counted(Proof):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            proofs.append(self)

    monkeypatch.setattr(follower, "Proof", Counted)
    with StudyReader(path) as reader:
        for _ in range(3):
            assert reader.status().certified
            assert reader.recorded.certified
        edit(path, "UPDATE pulls SET attempts = 2")  # another state of the file, the same rewards
        assert reader.status().certified
    assert len(proofs) == 1


def test_one_reader_follows_an_algorithm_without_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, "robust-rage") as study, StudyReader(path) as reader:
        while not study.done:
            study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
            assert reader.result.samples == study.result.samples
            assert reader.check().phases == len(study.result.history)
        assert same_result(reader.result, study.result)


def test_a_change_under_an_algorithm_without_a_kernel_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, "robust-rage") as study:
        study.run(linear, "serial")
    with StudyReader(path) as reader:
        assert reader.check().phases
        assert reader.recorded.certified
        edit(path, "UPDATE pulls SET reward = reward + 9 WHERE id = 0")  # far beyond the noise
        with pytest.raises(sf.InputError, match="phase 0: a reward was changed"):
            reader.check()
        assert reader.recorded.reason is sf.StopReason.NOT_VERIFIED
