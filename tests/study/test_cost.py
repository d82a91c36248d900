"""Costs of pulls: they decide where pulls go, are stored with them, and prove nothing."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Settings, algorithm_from
from surefoot.arrays import Array, IntArray
from surefoot.simulate import TableSimulator
from surefoot.study import Pull, Study, StudyInterrupted, StudyReader, verify
from surefoot.study.before.timetable import Took, timed
from surefoot.study.pull import Report
from surefoot.study.run import worker
from surefoot.system.progress import Snapshot

MEANS = np.array([1.2, 1.3, 0.3, 0.9, 0.0, 0.7])
SLOW = np.array([1.0, 10.0, 1.0, 10.0, 1.0, 10.0])  # every second perturbation


def problem() -> sf.RobustProblem:
    return sf.RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(3), 2))


def charging(pull: Pull) -> float:
    pull.charge(SLOW[pull.pair])
    return float(MEANS[pull.pair] + pull.rng().normal())


def create(path: Path, **given: Any) -> Study:
    asked = {"delta": 0.1, "noise": sf.Gaussian(), "cost": "reported", "seed": 7} | given
    return Study.create(path, problem(), **asked)


def fingerprint(path: Path) -> str | None:
    found = verify(path)
    assert found.certified, found.sentence
    return found.fingerprint


def simulated(seed: int, cost: Any, misfit: float) -> Took:
    """A study on one worker, with pulls of known lengths more or less a half."""
    rows = np.eye(6) if misfit else np.hstack([np.eye(3)[[0, 0, 1, 1, 2, 2]], SLOW[:, None] / 10])
    asked = sf.RobustProblem.from_pairs(rows, np.repeat(np.arange(3), 2))
    means = MEANS if misfit else rows @ np.array([1.2, 0.6, 0.3, 0.4])
    settings = Settings(delta=0.1, noise=sf.Gaussian(1.0), misfit=misfit, cost=cost)
    clock = np.random.default_rng(seed)

    def lengths(pairs: IntArray) -> Array:
        return np.asarray(SLOW[pairs] * clock.uniform(0.5, 1.5, len(pairs)))

    run = algorithm_from("prime").start(asked, settings)
    return timed(run, TableSimulator(means, 1.0, seed), 1, lengths, clock)


@pytest.mark.parametrize("misfit", [0.0, np.inf])
def test_less_is_spent_though_more_is_pulled(misfit: float) -> None:
    """60 runs each, by fixed seeds."""
    spent, pulls = (
        [sum(getattr(simulated(seed, cost, misfit), name) for seed in range(60)) for cost in COSTS]
        for name in ("spent", "pulls")
    )
    assert spent[1] < 0.9 * spent[0]
    assert pulls[1] > pulls[0]


COSTS = (None, "time")


def told_in_any_order(path: Path, generator: np.random.Generator) -> str | None:
    """Tell a few pulls, then go on in another process, until the study is done."""
    create(path, in_flight=2).close()
    done = False
    while not done:
        with Study.open(path) as study:
            pulls = study.ask()
            for place in generator.permutation(len(pulls))[: generator.integers(1, 40)].tolist():
                if not study.done:
                    study.tell(pulls[place], charging(pulls[place]))
            done = study.done
    return fingerprint(path)


def test_reported_costs_give_the_same_bits_on_any_workers_and_after_kills(tmp_path: Path) -> None:
    found = set()
    for name, workers in (("here", "serial"), ("threads", "threads"), ("processes", 2)):
        with create(tmp_path / f"{name}.db", in_flight=2) as study:
            study.run(charging, workers)
        found.add(fingerprint(study.path))
    by_hand = {
        told_in_any_order(tmp_path / f"killed-{seed}.db", np.random.default_rng(seed))
        for seed in (1, 2)
    }
    assert len(by_hand) == 1  # who gave the rewards is part of a fingerprint
    with create(tmp_path / "free.db", in_flight=2, cost=None) as study:
        study.run(charging, "serial")
    assert len(found) == 1
    assert fingerprint(tmp_path / "free.db") not in found


class _StopsAfter:
    """A display that interrupts a run, as Ctrl-C does."""

    def __init__(self, told: int) -> None:
        self._told = told

    def update(self, snapshot: Snapshot) -> None:
        if snapshot.told >= self._told:
            raise StudyInterrupted("enough")

    def close(self) -> None:
        pass


class _Clock:
    """A clock that stands still but while a simulator is at work."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._now = 1e9

    def time(self) -> float:
        return self._now

    def slowly(self, pull: Pull) -> float:
        self._now += SLOW[pull.pair]
        return float(MEANS[pull.pair] + pull.rng().normal())


def test_measured_lengths_are_stored_and_decide_the_same_when_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _Clock()
    monkeypatch.setattr(worker, "time", clock)
    with create(tmp_path / "study.db", cost="time") as study:
        with pytest.raises(StudyInterrupted):
            study.run(clock.slowly, "serial", progress=_StopsAfter(40))
        here = study.result.samples, study._ledger._run.algorithm.tally.prices
    with StudyReader(study.path) as reader:
        table, status = reader.pulls(), reader.status()
    done = table[table["state"] == "done"]
    assert (done["cost"] == SLOW[done["pair"]]).all()
    assert status.cost == "time"
    assert status.spent == pytest.approx(done["cost"].sum())
    with Study.open(study.path) as again:
        prices = again._ledger._run.algorithm.tally.prices
        assert again.result.samples == here[0]
    assert (prices == here[1]).all()
    assert prices[1::2].min() > 1.5 * prices[::2].max()


def test_times_that_were_told_plan_the_same_pulls_wherever_they_are_read(tmp_path: Path) -> None:
    """One study goes on in one process, the other is opened anew for every phase."""
    asked = []
    for name, reopens in (("kept", False), ("reopened", True)):
        study, pairs = create(tmp_path / f"{name}.db", cost="time"), []
        while not study.done:
            pulls = study.ask()
            pairs += [pull.pair for pull in pulls]
            study._ledger.record(
                Report(pull.id, slowly_told(pull), None, 100.0, 100.0 + SLOW[pull.pair])
                for pull in pulls
            )
            if reopens:
                study.close()
                study = Study.open(study.path)
        study.close()
        asked.append(pairs)
    assert asked[0] == asked[1]


def slowly_told(pull: Pull) -> float:
    return float(MEANS[pull.pair] + pull.rng().normal())


def test_a_failed_call_charges_nothing_to_the_next(tmp_path: Path) -> None:
    tried: set[int] = set()

    def fails_once(pull: Pull) -> float:
        reward = charging(pull)
        if pull.id not in tried:
            tried.add(pull.id)
            raise RuntimeError("once")
        return reward

    with create(tmp_path / "study.db", budget=12) as study:
        study.run(fails_once, "serial")
    with StudyReader(study.path) as reader:
        table = reader.pulls()
    assert (table["cost"] == SLOW[table["pair"]]).all()


def test_a_command_reports_a_field_of_its_json(tmp_path: Path) -> None:
    answer = "dict(y=int(sys.argv[1]) % 7, used=dict(cpu=3))"
    program = f"import json, sys; print(json.dumps({answer}))"
    (tmp_path / "study.toml").write_text(
        f"""
delta = 0.05
cost = "reported"
budget = 12
arms = {{ list = [{{ gain = 1.0 }}, {{ gain = 2.0 }}] }}
[simulator]
command = [{json.dumps(sys.executable)}, "-c", {json.dumps(program)}, "{{id}}"]
json_field = "y"
cost_field = "used.cpu"
"""
    )
    from surefoot.study.toml.config import StudyConfig

    config = StudyConfig(tmp_path / "study.toml")
    with config.open_study() as study:
        study.run(config.simulator(study.problem), "serial")
        assert study.description.settings.cost == "reported"
    with StudyReader(tmp_path / "study.db") as reader:
        assert reader.status().spent == 3.0 * reader.status().told > 0
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text.replace('cost = "reported"', 'cost = "time"'))
    with StudyConfig(tmp_path / "study.toml").open_study() as study:
        assert study.description.settings.cost == "time"


def test_costs_of_no_study_are_not_kept(tmp_path: Path) -> None:
    with create(tmp_path / "study.db", cost=None, budget=12) as study:
        told = study.run(charging, "serial").samples
    with sqlite3.connect(study.path) as connection:
        found = connection.execute("SELECT count(cost), count(reward) FROM pulls").fetchone()
    assert found == (0, told) != (0, 0)


def test_what_cannot_be_a_cost_is_refused(tmp_path: Path) -> None:
    pull = Pull(0, "abc", 0, 0, "a", "b", {"x": 1.0}, np.zeros(1), 5)
    for wrong in (-1.0, np.nan, np.inf, "3", True, 1e100):
        with pytest.raises(sf.InputError, match=r"pull\.charge.*a cost is a number from 0"):
            pull.charge(wrong)  # type: ignore[arg-type]
    pull.charge(2)
    pull.charge(np.float32(0.5))
    assert pull.charged == 2.5
    with pytest.raises(sf.InputError, match="cost='money' is not known: choose \"time\""):
        Settings(delta=0.1, noise=sf.Gaussian(), cost="money")  # type: ignore[arg-type]
    with pytest.raises(sf.InputError, match="counts pulls, not what they cost"):
        create(tmp_path / "study.db", algorithm="uniform", noise=sf.Gaussian(1.0))
