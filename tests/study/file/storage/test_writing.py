"""Rewards are on disk: correcting, closing, copying, and a file taken away under its study."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from surefoot.errors import InputError, SurefootWarning
from surefoot.study import Pull, StudyFileError, StudyReader
from surefoot.study.file.storage import ReadStorage, writing
from tests.study.toys import (
    Rounds,
    linear,
    open_ledger,
    open_toy,
    read_toy,
    rewards_of,
    same_result,
    toy_study,
)
from tests.waiting import PATIENCE


def test_a_told_reward_can_be_corrected_and_leaves_a_trace(path: Path) -> None:
    with toy_study(path) as study:
        study.tell_many([(0, 1.0), (1, 2.0)])
        study.correct(0, 1.5)
        assert study.told == 2
    assert [reward for *_, reward in rewards_of(path)[:2]] == [1.5, 2.0]
    with read_toy(path) as reader:
        assert reader.corrections()[["pull", "was", "became"]].values.tolist() == [[0, 1.0, 1.5]]


def test_what_cannot_be_corrected(path: Path) -> None:
    with toy_study(path) as study:
        with pytest.raises(InputError, match="has no reward yet"):
            study.correct(0, 1.0)
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        with pytest.raises(InputError, match="its phase has ended"):
            study.correct(0, 1.0)
        with pytest.raises(InputError, match="there is no pull 99"):
            study.correct(99, 1.0)
        with pytest.raises(InputError, match="finite number"):
            study.correct(16, float("nan"))


def test_the_correction_decides(path: Path, tmp_path: Path) -> None:
    """A study that was corrected goes on as if the right reward had been told at once."""
    with toy_study(path) as wrong, toy_study(tmp_path / "right.db") as right:
        for study in (wrong, right):
            pulls = study.ask()
            study.tell(0, 1e6 if study is wrong else 0.5)
            if study is wrong:
                study.correct(0, 0.5)
            study.tell_many([(pull.id, linear(pull)) for pull in pulls[1:]])
        assert wrong.result.theta.tobytes() == right.result.theta.tobytes()


@pytest.mark.parametrize("reward", [1e150, -1e200, 10**400])
def test_rewards_whose_squares_overflow_are_refused(path: Path, reward: float) -> None:
    with toy_study(path) as study:
        with pytest.raises(InputError, match="below 1e\\+150"):
            study.tell(0, reward)
        assert study.told == 0
        assert study.tell(0, 9e149)


def test_half_a_character_in_a_message_can_be_stored(path: Path) -> None:
    toy_study(path).close()
    with open_ledger(path, Rounds()) as ledger:
        ledger.record_losses([0], "lost: \ud800")
        ledger.pause("half \ud800")
    with read_toy(path) as reader:
        assert reader.failures()["error"].tolist() == ["lost: \\ud800"]


def test_after_closing_the_file_alone_holds_everything_though_readers_stay(
    path: Path, tmp_path: Path
) -> None:
    with read_after_creation(path) as reader:
        with open_toy(path) as study:
            study.run(linear, "serial")
        reader.status()
        shutil.copyfile(path, tmp_path / "copy.db")
    assert rewards_of(tmp_path / "copy.db") == rewards_of(path)
    assert len(rewards_of(tmp_path / "copy.db")) == 56


def read_after_creation(path: Path):  # type: ignore[no-untyped-def]
    toy_study(path).close()
    reader = read_toy(path)
    reader.status()
    return reader


def test_a_reader_that_never_stops_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LAST_PATIENCE", 0.1)
    study = toy_study(path)
    reader = sqlite3.connect(path)
    reading = reader.execute("SELECT * FROM pulls")
    reading.fetchone()
    study.tell(0, 1.0)
    with pytest.warns(SurefootWarning, match=r"toy\.db-wal beside it: keep both files"):
        study.close()
    reading.close()
    reader.close()
    with open_toy(path) as study:
        assert study.told == 1


def test_a_copy_can_be_made_at_any_moment(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with toy_study(path) as study:
        study.tell_many([(0, 1.0), (1, 2.0)])
        ReadStorage(path).copy_to(copy)
        with pytest.raises(StudyFileError, match="exists already"):
            ReadStorage(path).copy_to(copy)
        study.tell(2, 3.0)
    with open_toy(copy) as study:
        assert study.told == 2


def rescued(path: Path) -> Path:
    return path.with_name("toy.rescued.db")


class Meddling:
    """A simulator during whose pull 5 something happens to the file."""

    def __init__(self, meddle: object) -> None:
        self.meddle, self.calls = meddle, 0

    def __call__(self, pull: Pull) -> float:
        self.calls += 1
        if pull.id == 5:
            self.meddle()  # type: ignore[operator]
        return linear(pull)


def test_a_removed_file_stops_the_run_and_is_rescued(path: Path, tmp_path: Path) -> None:
    with toy_study(tmp_path / "straight.db") as study:
        expected = study.run(linear, "serial")
    simulator = Meddling(path.unlink)
    words = r"removed or replaced.*saved in .*toy\.rescued\.db"
    with toy_study(path) as study, pytest.raises(StudyFileError, match=words):
        study.run(simulator, "serial")
    assert simulator.calls < 16
    assert not path.exists()
    rescued(path).rename(path)
    assert len([r for *_, r in rewards_of(path) if r == r]) == simulator.calls
    with open_toy(path) as study:
        assert same_result(study.run(linear, "serial"), expected)


def test_a_replaced_file_is_left_alone(path: Path, tmp_path: Path) -> None:
    toy_study(tmp_path / "other.db").close()
    before = (tmp_path / "other.db").read_bytes()

    def replace() -> None:
        (tmp_path / "other.db").rename(path)

    with toy_study(path) as study, pytest.raises(StudyFileError, match="removed or replaced"):
        study.run(Meddling(replace), "serial")
    assert path.read_bytes() == before
    with StudyReader(rescued(path), algorithm=Rounds()) as reader:
        assert reader.status().told > 5


def test_a_removed_folder_is_rescued_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    folder = tmp_path / "gone"
    folder.mkdir()
    with toy_study(folder / "toy.db") as study:
        shutil.rmtree(folder)
        with pytest.raises(StudyFileError, match="saved in"):
            study.tell(0, 2.5)
    assert rewards_of(here / "toy.rescued.db")[0][2] == 2.5


def test_a_second_rescue_does_not_replace_the_first(path: Path) -> None:
    for reward in (1.0, 2.0):
        with toy_study(path) as study:
            path.unlink()
            with pytest.raises(StudyFileError, match="saved in"):
                study.tell(0, reward)
    assert rewards_of(rescued(path))[0][2] == 1.0
    assert rewards_of(path.with_name("toy.rescued-2.db"))[0][2] == 2.0


def test_it_is_noticed_while_no_reward_comes(path: Path) -> None:
    """Pulls that take hours do not put it off: it is looked at several times a second."""
    begun, go_on, waited_in_vain = threading.Event(), threading.Event(), []

    def waits(pull: Pull) -> float:
        if pull.id >= 5:
            begun.set()
            waited_in_vain.extend([] if go_on.wait(PATIENCE) else [pull.id])
        return linear(pull)

    def remove() -> None:
        begun.wait(PATIENCE)
        path.unlink()

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        with toy_study(path) as study, pytest.raises(StudyFileError, match="saved in"):
            study.run(waits, "threads")
        assert not waited_in_vain
    finally:
        go_on.set()
        thread.join()
    with StudyReader(rescued(path), algorithm=Rounds()) as reader:
        assert reader.status().state == "running"


def test_a_log_that_was_left_behind_does_not_get_into_a_new_study(path: Path) -> None:
    study = toy_study(path)
    study.tell(0, 1.0)
    log = path.with_name("toy.db-wal").read_bytes()
    study.close()
    path.unlink()
    path.with_name("toy.db-wal").write_bytes(log)
    with pytest.raises(StudyFileError, match="left of another study"):
        toy_study(path)
    assert not path.exists()
