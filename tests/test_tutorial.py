"""Surefoot from the outside, in the order in which one meets it, by its public names alone.

A clinic spreads twelve people over nurses and doctors. Days go as planned, or there is a flu, or a
nurse is ill: which staff waits least on its worst day?
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import surefoot as sf

STAFFS = [{"nurses": nurses, "doctors": 12 - nurses} for nurses in (4, 5, 6, 7)]
DAYS = {"as planned": {}, "flu": {"demand": "+20%"}, "ill": {"nurses": -1}}
AROUND = {"demand": 1.0}


def waiting(nurses: float, doctors: float, demand: float) -> float:
    """The mean waiting time of a day: five nurses are enough on an ordinary one."""
    return 10 * demand + 3 * (nurses - 5 * demand) ** 2 + 0.1 * doctors


def a_day(nurses: float, doctors: float, demand: float, rng: np.random.Generator) -> float:
    return waiting(nurses, doctors, demand) + rng.normal()


def asked(path: Path, **options: object) -> sf.Answer:
    """The question of this page, kept in a file."""
    return sf.find(a_day, STAFFS, DAYS, environment=AROUND, minimize=True, file=path, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clinic") / "clinic.db"


@pytest.fixture(scope="module")
def answer(path: Path) -> sf.Answer:
    return asked(path, seed=1)


def test_the_answer_is_the_best_worst_case(answer: sf.Answer) -> None:
    """Five nurses are best as planned, six when things go wrong."""
    assert answer.certified
    assert answer.best == {"nurses": 6, "doctors": 6, "demand": 1.0}
    assert answer.value == pytest.approx(waiting(5, 6, 1.0), abs=4)
    assert "6" in answer.sentence


def test_every_pair_is_in_the_table(answer: sf.Answer) -> None:
    table = answer.table()
    assert len(table) == len(STAFFS) * len(DAYS)
    assert table["pulls"].sum() == answer.pulls
    assert table["worst"].groupby("arm").sum().eq(1).all()


def test_asking_again_costs_nothing(answer: sf.Answer, path: Path) -> None:
    assert asked(path).pulls == answer.pulls


def test_a_file_proves_its_answer(answer: sf.Answer, path: Path) -> None:
    checked = sf.verify(path)
    assert checked.certified
    assert checked.intact


def test_an_edited_reward_is_found(answer: sf.Answer, path: Path, tmp_path: Path) -> None:
    answer.save(copy := tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as file, file:
        file.execute("UPDATE pulls SET reward = reward - 5 WHERE id = 3")
    assert not sf.verify(copy).certified
    assert sf.verify(path).certified


def test_a_mistake_is_answered_with_a_remedy() -> None:
    with pytest.raises(sf.InputError, match="did you mean 'demand'"):
        sf.find(a_day, STAFFS, {"flu": {"demnad": "+20%"}}, environment=AROUND)


def test_a_person_may_do_the_pulls(tmp_path: Path) -> None:
    """What to try is asked, what came of it is told; in between the file waits."""
    problem = sf.RobustProblem.from_lists([{"grip": 1.0}, {"grip": 3.0}])
    path = tmp_path / "hand.db"
    sf.Study.create(path, problem, delta=0.1, noise=sf.Gaussian(), seed=1).close()
    while True:
        with sf.Study.open(path) as study:
            pulls = study.ask()
            study.tell_many([(p.id, p.parameters["grip"] + p.rng().normal()) for p in pulls])
            if not pulls:
                result = study.result
                break
    assert result.certified
    assert result.arm_name == "grip=3"


class ByLot(sf.Planner):
    """Draws how often to pull; whoever chooses, the certificate holds."""

    name: ClassVar[str] = "by lot"

    def propose(self, past: sf.Past) -> sf.Proposal:
        rng = np.random.default_rng(past.tally.samples)
        alive = past.certifier.survivors[past.problem.arm_of_pair]
        counts = np.where(alive, rng.integers(8, 17, len(alive)), 0)
        if not past.tally.samples:
            return sf.Proposal(counts, batches=8)
        values = np.where(past.certifier.survivors, past.problem.worst_of(past.means), -math.inf)
        claims = past.challenge(int(values.argmax()), counts, batches=8)
        return sf.Proposal(counts, batches=8, claims=claims, variances=past.variances)


def test_a_planner_of_ones_own_is_certified_too() -> None:
    problem = sf.RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    simulator = sf.TableSimulator([1.0, 0.8, 0.9, 0.1], [0.5] * 4, 3)
    options = {"delta": 0.05, "noise": sf.Gaussian(), "misfit": math.inf}
    result = sf.identify(problem, simulator, ByLot(), **options)
    assert result.certified
    assert result.arm == 0


def test_a_model_saves_pulls_where_it_is_right() -> None:
    """The paper's problem: means are linear in few features, and that is known."""
    corners = [[x, y] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    angles = np.linspace(0, np.pi, 6)
    pairs = [[np.cos(a) + x, np.sin(a) + y] for a in angles for x, y in corners]
    problem = sf.RobustProblem.from_pairs(pairs, np.repeat(np.arange(6), 4))

    def pulls(misfit: float) -> int:
        simulator = sf.LinearSimulator(problem, [1.0, 0.2], seed=2)
        result = sf.identify(problem, simulator, delta=0.05, noise=sf.Gaussian(1.0), misfit=misfit)
        assert result.certified
        assert result.arm == 0
        return result.samples

    assert pulls(0.0) < pulls(math.inf)
