import contextlib
import shutil
import sqlite3
import threading
import time

import pytest

from surefoot import StudyReader
from surefoot.study.pull import Report
from surefoot.view.dashboard import shown as module
from surefoot.view.dashboard.shown import FileWatch, fields
from tests.study.toys import open_ledger, same_result
from tests.view.dashboard.studies import create, finished_study, linear, paused_study


@pytest.fixture(autouse=True)
def _always_look(monkeypatch):
    monkeypatch.setattr(module, "FRESH", -1.0)


def test_it_follows_a_study_through_its_life(tmp_path):
    path = tmp_path / "study.db"
    watch = FileWatch(path)
    assert watch.snapshot().state == "missing"
    with create(path) as study:
        assert watch.snapshot().state == "running"
        assert watch.snapshot().result.samples == 0
        study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        first = watch.snapshot()
        assert first.result.samples == study.told == first.status.told
    assert watch.snapshot().state == "interrupted"
    with create(tmp_path / "other.db") as other:
        other.close()
    assert FileWatch(tmp_path / "other.db").snapshot().state == "waiting"
    watch.close()


def test_versions_change_with_what_there_is_to_draw(tmp_path):
    with create(tmp_path / "study.db") as study:
        watch = FileWatch(tmp_path / "study.db")
        versions = []
        while not study.done:
            versions.append(watch.snapshot().version)
            study.tell_many([(pull.id, linear(pull)) for pull in study.ask()])
        versions.append(watch.snapshot().version)
    assert len(set(versions)) == len(versions) > 2
    assert watch.snapshot().state == "finished"


def test_a_file_that_vanishes_and_one_in_its_place(tmp_path):
    path, other = finished_study(tmp_path / "a.db"), paused_study(tmp_path / "b.db")
    watch = FileWatch(path)
    assert watch.snapshot().state == "finished"
    path.unlink()
    assert watch.snapshot().state == "missing"
    assert watch.failures() is None
    shutil.copy(other, path)
    assert watch.snapshot().state == "paused"
    other.replace(path)
    assert watch.snapshot().state == "paused"


def test_hardness_is_worked_out_once_and_only_at_the_end(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "estimated_hardness", lambda result: calls.append(result))
    paused = FileWatch(paused_study(tmp_path / "paused.db"))
    assert paused.hardness() is None
    done = FileWatch(finished_study(tmp_path / "done.db"))
    done.hardness()
    done.hardness()
    assert len(calls) == 1


def test_it_reads_and_holds_nothing(tmp_path, monkeypatch):
    """A writer may even empty its log, which waits for every reader that is in the middle of
    something.
    """
    path = tmp_path / "study.db"
    create(path).close()
    with open_ledger(path) as ledger:
        opened, connect = [], sqlite3.connect
        monkeypatch.setattr(
            sqlite3, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1]
        )
        watch = FileWatch(path)
        ledger.record([Report(0, 1.5, None, None, time.time())])
        assert watch.snapshot().status.told == 1
        watch.failures()
        assert ledger.storage.checkpoint(patience=0)
    assert opened
    for connection in opened:
        with pytest.raises(Exception, match=r"readonly|read-only"):
            connection.execute("DELETE FROM pulls")


def test_a_writer_at_full_speed_ends_as_if_nobody_watched(tmp_path):
    alone = finished_study(tmp_path / "alone.db")
    path, end, snapshots = tmp_path / "watched.db", threading.Event(), []
    with create(path) as study:
        watch = FileWatch(path)

        def stare():
            while not end.is_set():
                snapshots.append(watch.snapshot())

        threads = [threading.Thread(target=stare) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            study.run(linear, "serial")
        finally:
            end.set()
            for thread in threads:
                thread.join()
        assert same_result(watch.snapshot().result, study.result)
    assert {seen.state for seen in snapshots} <= {"running", "finished"}
    told = [seen.status.told for seen in snapshots]
    assert len(set(told)) > 3, "it was watched while it ran"
    with StudyReader(alone) as one, StudyReader(path) as other:
        assert one.pulls()["reward"].tolist() == other.pulls()["reward"].tolist()
        assert same_result(one.result, other.result)


EDITS = {
    "rewards": "UPDATE pulls SET reward = -reward",
    "note": 'UPDATE phases SET summary = replace(summary, \'"arm": "\', \'"arm": "not \')',
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_certificate_that_does_not_follow_from_the_rewards_is_not_shown(tmp_path, edit):
    path = finished_study(tmp_path / "study.db")
    assert fields(FileWatch(path).snapshot())["certified"]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(EDITS[edit]).rowcount > 0
        connection.commit()
    said = fields(FileWatch(path).snapshot())
    assert not said["certified"]
    assert "has the best worst case" not in said["sentence"]
