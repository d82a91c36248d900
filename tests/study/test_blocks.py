"""Common random numbers: which pulls share a stream, and that nothing disturbs it."""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import StopReason
from surefoot.algorithms.base import Proposal
from surefoot.errors import InputError
from surefoot.statistics import Outcome
from surefoot.study import Pull, Study, StudyReader
from tests.study.toys import (
    MARK,
    THETA,
    Rounds,
    _first_time,
    rewards_of,
    same_result,
    toy_problem,
    toy_study,
)

BATCHES = 3


@dataclass(eq=False)
class Blocks(Rounds):
    """Rounds whose pulls share streams; what it pulls next hangs on every bit of its batches."""

    size: int = 7  # two in each batch, and one in none
    name: ClassVar[str] = "blocks"

    def next_counts(self) -> Proposal | StopReason:
        found = super().next_counts()
        return found if isinstance(found, StopReason) else Proposal(found, BATCHES, True)

    def learn(self, outcome: Outcome) -> None:
        super().learn(outcome)
        bits = int(outcome.batch_sums.view(np.int64).sum() % self.problem.n_arms)
        self.leader = (self.leader + bits) % self.problem.n_arms


def blocks_study(path: Path) -> Study:
    return Study.create(path, toy_problem(), Blocks(), delta=0.05, noise=sf.Gaussian(1.0), seed=11)


def shared(pull: Pull) -> float:
    """Two sources of randomness, of which both are shared."""
    own = pull.rng().normal() + 0.1 * pull.stream(0).normal()
    return float((1 + 0.1 * pull.pair) * (pull.features @ THETA + own))


def fails_once(pull: Pull) -> float:
    if pull.id == 5 and _first_time():
        raise OSError("licence server is away")
    return shared(pull)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blocks.db"


def all_pulls(study: Study) -> list[Pull]:
    found = []
    for pull in study.pulls():
        found.append(pull)
        study.tell(pull, shared(pull))
    return found


def test_a_block_has_one_pull_of_every_pair_and_one_seed(path: Path) -> None:
    with blocks_study(path) as study:
        first = study.ask()
    blocks = defaultdict(list)
    for pull in first:
        blocks[pull.block].append(pull)
    outside = blocks.pop(None)
    assert len(blocks) == 6  # three batches of two
    for pulls in blocks.values():
        assert sorted(pull.pair for pull in pulls) == list(range(8))
        assert len({pull.seed for pull in pulls}) == 1
        assert len({pull.rng().random() for pull in pulls}) == 1
        assert len({pull.stream(3).random() for pull in pulls}) == 1
    assert sorted(pull.pair for pull in outside) == list(range(8))
    assert len({pull.seed for pull in outside}) == 8


def test_batches_hold_the_pulls_in_the_order_of_their_numbers(path: Path) -> None:
    with blocks_study(path) as study:
        first = [pull for pull in study.ask() if pull.pair == 4]
    blocks = [pull.block for pull in first]
    assert blocks[-1] is None
    assert blocks[:-1] == sorted(blocks[:-1])


def test_no_stream_is_used_again_in_another_phase_or_by_another_block(path: Path) -> None:
    with blocks_study(path) as study:
        pulls = all_pulls(study)
    phases = defaultdict(set)
    for pull in pulls:
        phases[pull.block].add(pull.phase)
    del phases[None]
    assert all(len(found) == 1 for found in phases.values())
    streams = {}
    for pull in pulls:
        whose = pull.id if pull.block is None else f"block {pull.block}"
        for number in (-1, 0, 1):
            generator = pull.rng() if number < 0 else pull.stream(number)
            streams[whose, number] = generator.random()
    assert len(set(streams.values())) == len(streams)


def test_pulls_keep_their_block_on_the_way_to_a_worker(path: Path) -> None:
    with blocks_study(path) as study:
        for pull in study.ask(10):
            received = pickle.loads(pickle.dumps(pull))
            assert (received.block, received.seed) == (pull.block, pull.seed)


def test_without_common_random_numbers_every_pull_has_its_own_streams(path: Path) -> None:
    with toy_study(path) as study:
        pulls = study.ask()
    assert all(pull.block is None for pull in pulls)
    drawn = {g.random() for pull in pulls for g in (pull.rng(), pull.stream(0), pull.stream(1))}
    assert len(drawn) == 3 * len(pulls)


@pytest.mark.parametrize("number", [-1, 1.5, "arrivals"])
def test_streams_are_numbered(path: Path, number: object) -> None:
    with toy_study(path) as study, pytest.raises(InputError, match="numbered 0, 1, 2"):
        study.ask(1)[0].stream(number)  # type: ignore[arg-type]


def test_any_order_retry_worker_or_interruption_gives_the_same_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path / "mark"))
    with blocks_study(tmp_path / "straight.db") as study:
        expected = study.run(shared, "serial")
    with blocks_study(tmp_path / "workers.db") as study:
        assert same_result(study.run(fails_once, 2), expected)
    shuffled, order = tmp_path / "shuffled.db", np.random.default_rng(1)
    blocks_study(shuffled).close()
    done = False
    while not done:  # opened anew after every 20 rewards
        with Study.open(shuffled, algorithm=Blocks()) as study:
            waiting = study.ask()
            for place in order.permutation(len(waiting))[:20]:
                study.tell(waiting[place], shared(waiting[place]))
            done = study.done
            result = study.result
    assert same_result(result, expected)
    numbers = [rewards_of(tmp_path / f"{name}.db") for name in ("straight", "workers", "shuffled")]
    assert numbers[0] == numbers[1] == numbers[2]


def test_a_reader_follows_a_study_with_batches(path: Path) -> None:
    with blocks_study(path) as study:
        for pull in study.ask():
            study.tell(pull, shared(pull))
        with StudyReader(path, algorithm=Blocks()) as reader:
            assert reader.recorded.theta.tobytes() == study.result.theta.tobytes()
            assert same_result(reader.result, study.result)
            assert reader.phases()[["batches", "shared"]].values.tolist() == [[3, 1], [3, 1]]


def test_another_layout_than_was_pulled_is_refused(path: Path) -> None:
    """Equal counts are not enough: which pulls share a stream is part of the plan."""
    import sqlite3

    with blocks_study(path) as study:
        study.tell_many([(pull.id, shared(pull)) for pull in study.ask()])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE phases SET batches = 2 WHERE phase = 0")
    with pytest.raises(InputError, match="phase 0: what was committed"):
        Study.open(path, algorithm=Blocks())
