"""The study file taken away under a running study."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from surefoot.study import Pull, StudyFileError, StudyReader
from tests.study.toys import Rounds, linear, open_toy, rewards_of, same_result, toy_study
from tests.waiting import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toy.db"


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
