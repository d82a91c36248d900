import time
from dataclasses import replace

from surefoot.study.file.storage import Running
from surefoot.view.dashboard.shown import FileWatch, details, fields
from tests.study.toys import open_ledger
from tests.view.dashboard.studies import create, finished_study, grid_study, linear


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
