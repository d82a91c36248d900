"""What a dashboard shows follows its files, and a file that cannot be read holds up nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from surefoot import StudyReader
from surefoot.study.file.storage import Running
from surefoot.study.pull import Report
from surefoot.view.dashboard import make_app, shown
from surefoot.view.dashboard.guard import Lane
from surefoot.view.dashboard.shown import FileWatch, details, fields
from tests.study.toys import open_ledger, same_result
from tests.view.dashboard.studies import create, finished_study, grid_study, linear, paused_study
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def _always_look(monkeypatch):
    monkeypatch.setattr(shown, "FRESH", -1.0)


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
    assert fields(watch.snapshot())["hint"].endswith("go on with study.run(simulator).")
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
    monkeypatch.setattr(shown, "estimated_hardness", lambda result: calls.append(result))
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

        def watched(pull):
            snapshots.append(watch.snapshot())
            return linear(pull)

        def stare():
            while not end.is_set():
                snapshots.append(watch.snapshot())

        threads = [threading.Thread(target=stare) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            study.run(watched, "serial")
        finally:
            end.set()
            for thread in threads:
                thread.join()
        assert same_result(watch.snapshot().result, study.result)
    assert {seen.state for seen in snapshots} <= {"running", "finished"}
    told = [seen.status.told for seen in snapshots]
    assert len(set(told)) > 3  # it was watched while it ran
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


@pytest.fixture
def two_studies(tmp_path):
    for name in ("good", "bad"):
        create(tmp_path / f"{name}.db").close()
    return [tmp_path / "good.db", tmp_path / "bad.db"]


def test_forty_five_requests_for_a_study_that_hangs(two_studies, monkeypatch):
    gate = threading.Event()
    limits = iter([PATIENCE] * 3 + [0.5] * 3)  # of the good study and of the bad one
    read = shown.FileWatch.snapshot
    monkeypatch.setattr(
        shown.FileWatch,
        "snapshot",
        lambda w: (w.path.stem == "bad" and gate.wait(PATIENCE)) or read(w),
    )
    monkeypatch.setattr(shown, "Lane", lambda *_: Lane(next(limits)))
    app = make_app(two_studies)

    async def visit():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            stuck = [client.get("/study/2") for _ in range(45)]
            answers = await asyncio.gather(*stuck)
            assert {answer.status_code for answer in answers} == {503}
            assert (await client.get("/study/1")).status_code == 200
            studies = (await client.get("/")).text
            assert "Reading this file takes too long" in studies

    try:
        asyncio.run(asyncio.wait_for(visit(), PATIENCE))
    finally:
        gate.set()


def test_the_bar_of_a_study_never_goes_back_but_for_another_study():
    onward = shown._Onward()

    def at(told, share, state="running"):
        status = SimpleNamespace(told=told)
        return onward.held(SimpleNamespace(status=status, state=state), {"done": share})["done"]

    assert [at(10, 0.2), at(20, 0.1), at(30, 0.5), at(40, None)] == [0.2, 0.2, 0.5, None]
    assert at(50, 0.4) == 0.5
    assert at(60, 1.0, "finished") == 1.0
    assert at(60, 0.7) == 0.7  # its budget was raised
    assert at(3, 0.05) == 0.05  # another study is in the file


def test_pages_name_the_folder_of_a_file(tmp_path):
    folders = [tmp_path / "monday", tmp_path / "tuesday"]
    for folder in folders:
        folder.mkdir()
        create(folder / "study.db").close()

    async def visit():
        app = make_app([folder / "study.db" for folder in folders])
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            listed = (await client.get("/")).text
            assert "monday/study.db" in listed
            assert "tuesday/study.db" in listed
            assert "monday/study.db" in (await client.get("/study/1")).text

    asyncio.run(asyncio.wait_for(visit(), PATIENCE))


def test_a_running_study_says_how_far_it_is(tmp_path):
    path = tmp_path / "study.db"
    with create(path) as study:
        early = fields(FileWatch(path).snapshot())
        pulls = study.ask()
        study.tell_many([(pull.id, linear(pull)) for pull in pulls])
        while study.result.history[-1].boundary is None:  # nothing was compared yet
            pulls += (more := study.ask())
            study.tell_many([(pull.id, linear(pull)) for pull in more])
        last, problem = study.result.history[-1], study.problem
    said = fields(FileWatch(path).snapshot())
    assert said["leader"] == problem.arm_names[last.leader]
    assert said["survivors"] == f"{last.survivors.sum()} of {problem.n_arms}"
    assert said["told"] == str(len(pulls))
    assert 0 < said["done"] < 1
    assert early["left"] == "too early to say"
    assert int(said["left"].replace(",", "")) > 0


def test_what_runs_is_named_with_its_worker_the_longest_first(tmp_path):
    path = tmp_path / "study.db"
    create(path).close()
    with open_ledger(path) as ledger:
        began = time.mktime((2026, 5, 4, 13, 2, 1, 0, 0, -1))
        workers = ["node 7", None, "node 8", "node 9"]
        ledger.set_running(
            [Running(number, began + number, worker) for number, worker in enumerate(workers)]
        )
        said = fields(FileWatch(path).snapshot())
    assert said["running"] == "4"
    first, second, third = said["longest"].split("; ")
    assert first == "Running longest: pull 0 since 04 May 13:02:01 on node 7"
    assert "pull 1" in second
    assert "not known" in second
    assert third.endswith("node 8.")


def test_a_finished_study_is_done(tmp_path):
    said = fields(FileWatch(finished_study(tmp_path / "study.db")).snapshot())
    assert (said["state"], said["done"], said["left"], said["certified"]) == (
        "finished",
        1.0,
        "none",
        True,
    )


def test_a_missing_study_has_words_but_no_numbers(tmp_path):
    watch = FileWatch(tmp_path / "gone.db")
    said = fields(watch.snapshot())
    assert (said["seen"], said["told"], said["done"]) == (False, "–", None)
    assert "gone.db" in said["message"]
    assert details(watch, watch.snapshot())["charts"] == {}


def test_a_near_tie_is_pointed_out_while_a_study_runs(tmp_path):
    watch = FileWatch(grid_study(tmp_path / "inner.db", best=2.0))
    shown = watch.snapshot()
    tied = replace(shown, status=replace(shown.status, near_tie="nearly level"))
    assert fields(tied)["mind"] == "nearly level"


def test_a_winner_at_the_end_of_its_grid_is_pointed_out(tmp_path):
    said = fields(FileWatch(grid_study(tmp_path / "end.db", best=3.0)).snapshot())
    assert "gain=3 is at the end of the values of gain that were tried" in said["beside"]
    assert not fields(FileWatch(grid_study(tmp_path / "inner.db", best=2.0)).snapshot())["mind"]
