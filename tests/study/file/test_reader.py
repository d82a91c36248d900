"""Reading a study while it runs and afterwards."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InputError
from surefoot.study import Pull, Study, StudyReader, verify
from surefoot.study.file.storage.records import Note
from tests.study import toys
from tests.study.toys import linear, open_toy, read_toy, same_result, toy_problem, toy_study
from tests.waiting import A_DAY


def test_the_result_follows_the_study(path: Path) -> None:
    with toy_study(path) as study, read_toy(path) as reader:
        while pulls := study.ask(7):
            for pull in pulls:
                study.tell(pull.id, linear(pull))
            assert same_result(reader.result, study.result)
        assert reader.result.reason is sf.StopReason.NO_CERTIFICATE


def test_the_status_of_a_new_study(path: Path) -> None:
    with toy_study(path, name="wing") as study, read_toy(path) as reader:
        status = reader.status()
        assert (reader.name, reader.id, reader.path) == ("wing", study.id, path)
        assert (status.state, status.told, status.phase, status.phase_pulls) == (
            "running",
            0,
            0,
            16,
        )
        assert (status.survivors, status.leader, status.expected_left) == (4, None, None)
        assert status.pulls_per_minute is None
        assert reader.pulls()["state"].tolist() == ["waiting"] * 16
        assert reader.phases()["pulls"].tolist() == [16]
        assert len(reader.failures()) == len(reader.pulls_per_minute()) == 0
        assert reader.created == pytest.approx(time.time(), abs=A_DAY)


def test_the_status_of_a_near_tie(path: Path) -> None:
    level = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1], features="tabular")
    settings = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    with Study.create(path, level, **settings) as study, StudyReader(path) as reader:
        hints = []
        for _ in range(30):
            for pull in study.ask():
                study.tell(pull.id, pull.rng().normal())
            hints.append(reader.status().near_tie)
        assert hints[0] is None
        assert any("with a tolerance ends much sooner" in hint for hint in hints if hint)
        study.run(lambda pull: 3.0 * (pull.pair < 2) + pull.rng().normal(), "serial")
        assert reader.status().near_tie is None


def test_the_status_of_a_finished_study(path: Path) -> None:
    with toy_study(path) as study:
        study.run(linear, "serial")
        result = study.result
    with read_toy(path) as reader:
        status = reader.status()
    assert (status.state, status.told, status.writer) == ("finished", 56, None)
    assert status.leader == result.arm_name
    assert status.sentence == status.message == result.sentence
    assert status.pulls_per_minute is not None
    assert status.pulls_per_minute > 0


def test_pulls_have_names_parameters_and_times(path: Path) -> None:
    with toy_study(path) as study:
        study.run(linear, "serial")
        problem = study.problem
    with read_toy(path) as reader:
        table = reader.pulls()
        assert reader.pulls(since=50)["id"].tolist() == list(range(50, 56))
        assert reader.pulls_per_minute()["pulls"].sum() == 56
    assert (table[["a", "b", "c"]].to_numpy() == problem.parameters[table["pair"]]).all()
    assert table["arm"].tolist() == [
        problem.arm_names[a] for a in problem.arm_of_pair[table["pair"]]
    ]
    assert table["started"].to_numpy() == pytest.approx(time.time(), abs=A_DAY)
    assert (table["finished"] >= table["started"]).all()
    assert (table["attempts"] == 1).all()


def test_phases_tell_what_was_known_after_each(path: Path) -> None:
    with toy_study(path) as study:
        study.run(linear, "serial")
        history = study.result.history
        names = study.problem.arm_names
    with read_toy(path) as reader:
        table = reader.phases()
    assert table["pulls"].tolist() == [int(record.counts.sum()) for record in history]
    assert table["leader"].tolist() == [names[record.leader] for record in history]
    assert table["samples"].tolist() == [16, 36, 56]
    assert (table["finished"] >= table["planned"]).all()


def test_a_parameter_may_be_called_like_a_column(path: Path) -> None:
    problem = sf.RobustProblem.paper(
        [[1.0], [2.0]], [[[0.0]], [[0.0]]], parameter_names=["attempts"]
    )
    with Study.create(path, problem, toys.Rounds(), delta=0.1, noise=sf.Gaussian(1.0)):
        pass
    with StudyReader(path, algorithm=toys.Rounds()) as reader:
        assert "parameter attempts" in reader.pulls().columns
        assert (reader.pulls()["attempts"] == 0).all()


def test_a_summary_lost_with_a_killed_driver_is_written_again(path: Path) -> None:
    with toy_study(path) as study:
        for pull in study.ask(16):
            study.tell(pull.id, linear(pull))
    expected = _first_note(path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE phases SET finished = NULL, summary = NULL, rewards = NULL, limits = NULL, "
            "closing = NULL"
        )
        connection.execute("DELETE FROM phases WHERE phase = 1")
        connection.execute("DELETE FROM pulls WHERE phase = 1")
    connection.close()
    open_toy(path).close()
    assert _first_note(path) == expected


def _first_note(path: Path) -> dict[str, Any]:
    """What the file says of the first phase."""
    connection = sqlite3.connect(path)
    (summary,) = connection.execute("SELECT summary FROM phases WHERE phase = 0").fetchone()
    connection.close()
    return Note.from_json(summary).to_dict()


def test_forecasts_follow_the_phases(path: Path) -> None:
    with Study.create(
        path, toy_problem(), "robust-static", delta=0.01, noise=sf.Gaussian(3.0), seed=1
    ) as study:
        total = study.run(linear_with_much_noise, "serial").samples
    with StudyReader(path) as reader:
        table = reader.phases()
        expected = table["samples"] + table["expected_left"]
        assert reader.status().expected_left == 0
    assert (table["expected_left"].iloc[:-1] > 0).any()
    assert total / 10 < expected.iloc[-2] < 10 * total


def linear_with_much_noise(pull: Pull) -> float:
    return float(pull.features @ toys.THETA + 3 * pull.rng().normal())


def test_an_algorithm_of_ones_own_is_asked_for_only_when_needed(path: Path) -> None:
    toy_study(path).close()
    with StudyReader(path) as reader:
        assert reader.status().phase_pulls == 16
        with pytest.raises(InputError, match="algorithm="):
            _ = reader.result


@pytest.mark.parametrize("jump", [-36_000.0, 36_000.0])
def test_the_pace_is_that_since_the_clock_jumped(path: Path, jump: float) -> None:
    """Half of 40 rewards, one a second, came before the clock was set by ten hours."""
    with toy_study(path) as study:
        study.run(linear, "serial")
    now = time.time()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE pulls SET finished = ? + id", (now - 60,))
        connection.execute("UPDATE pulls SET finished = finished - ? WHERE id < 20", (jump,))
    with read_toy(path) as reader:
        assert reader.status().pulls_per_minute == pytest.approx(60.0)


def test_the_pace_is_that_of_the_process_that_writes(path: Path) -> None:
    """Half of the rewards came in a run before, one a second; those of this run, two a second."""
    with toy_study(path) as study:
        study.run(linear, "serial")
    now = time.time()
    with open_toy(path), contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE pulls SET finished = ? + id WHERE id < 28", (now - 200,))
        connection.execute("UPDATE pulls SET finished = ? + id / 2.0 WHERE id >= 28", (now - 40,))
        os.utime(path.with_name(path.name + ".lock"), (now - 60, now - 60))
        connection.commit()
        with read_toy(path) as reader:
            assert reader.status().pulls_per_minute == pytest.approx(120.0)


def test_reading_leaves_nothing_beside_the_file(path: Path) -> None:
    toy_study(path).close()
    with read_toy(path) as one, read_toy(path) as other:
        one.status()
        other.status()
    verify(path)
    assert list(path.parent.iterdir()) == [path]


def test_reading_leaves_a_log_that_holds_something(path: Path, tmp_path: Path) -> None:
    """A driver that was killed leaves its last rewards in the log, which a reader leaves alone."""
    copy = tmp_path / "copy" / path.name
    copy.parent.mkdir()
    with toy_study(path) as study:
        study.tell(0, 1.0)
        for file in path.parent.glob("toy.db*"):
            shutil.copy(file, copy.parent)
    before = copy.read_bytes(), copy.with_name("toy.db-wal").read_bytes()
    with read_toy(copy) as reader:
        assert reader.status().told == 1
    assert (copy.read_bytes(), copy.with_name("toy.db-wal").read_bytes()) == before


def test_durations_are_of_closed_phases_and_of_pulls_simulated_here(path: Path) -> None:
    with toy_study(path, rounds=3) as study:
        study.tell_many([(pull, linear(pull)) for pull in study.ask()])  # by hand: phase 0
        with pytest.raises(KeyboardInterrupt):
            study.run(_Interrupted(30), "serial")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE pulls SET started = finished - pair WHERE started IS NOT NULL")
    connection.close()
    with StudyReader(path) as reader:
        table = reader.pulls()
        counted = table[(table["phase"] == 1) & table["reward"].notna()]
        found = reader.durations(reader.problem)
        assert found is not None
        assert sorted(found.pairs) == sorted(counted["pair"])
        np.testing.assert_allclose(found.seconds, found.pairs, atol=1e-3)
        assert reader.durations(toy_problem(3)) is None  # other arms
        few = sf.RobustProblem.from_lists([{"x": 1.0}], [{"name": "none"}])
        assert reader.durations(few) is None


class _Interrupted:
    """A simulator that is interrupted after so many pulls."""

    def __init__(self, pulls: int) -> None:
        self._left = pulls

    def __call__(self, pull: Pull) -> float:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return linear(pull)
