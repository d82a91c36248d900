"""Correcting, what is running, and what a file cannot hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.study.file.storage import Running
from tests.study.toys import Rounds, linear, open_ledger, read_toy, rewards_of, toy_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "toy.db"


def test_what_is_running_is_told_while_the_study_is_open(path: Path) -> None:
    toy_study(path).close()
    with open_ledger(path, Rounds()) as ledger, read_toy(path) as reader:
        ledger.set_running([Running(3, 17.0, "process 5"), Running(4, 16.0, None)])
        assert reader.status().running == [Running(4, 16.0, None), Running(3, 17.0, "process 5")]
        ledger.set_running([Running(4, 16.0, None)])
        assert reader.status().running == [Running(4, 16.0, None)]
    with read_toy(path) as reader:
        assert reader.status().running == []


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
