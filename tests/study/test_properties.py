"""Ask and tell in random orders, with failures, repeats and restarts: always the same study."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from surefoot.errors import InputError, SurefootWarning
from surefoot.study import Pull, StudyPaused
from tests.study.toys import always_fails_at_5, linear, open_toy, rewards_of, same_result, toy_study


def _undisturbed() -> tuple[Any, list[Any]]:
    with tempfile.TemporaryDirectory() as folder, toy_study(Path(folder) / "toy.db") as study:
        return study.run(linear, "serial"), rewards_of(study.path)


class AskAndTell(RuleBasedStateMachine):
    """Whatever happens on the way, every stored reward and the result are those of an undisturbed
    run.
    """

    expected: tuple[Any, list[Any]] | None = None

    def __init__(self) -> None:
        super().__init__()
        AskAndTell.expected = AskAndTell.expected or _undisturbed()
        self.folder = Path(tempfile.mkdtemp())
        self.study = toy_study(self.folder / "toy.db")
        self.out: list[Pull] = []
        self.told: set[int] = set()

    @rule(n=st.integers(1, 12))
    def ask(self, n: int) -> None:
        fresh = self.study.ask(n)
        assert len(fresh) <= n
        assert not {pull.id for pull in fresh} & self.told
        assert not {pull.id for pull in fresh} & {pull.id for pull in self.out}
        self.out += fresh

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def tell_some(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, len(self.out)))):
            pull = self.out.pop(data.draw(st.integers(0, len(self.out) - 1)))
            assert self.study.tell(pull, linear(pull))
            self.told.add(pull.id)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.told)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert not self.study.tell(number, 1e6)
        assert [warning.category for warning in caught] == [SurefootWarning]

    @rule(number=st.sampled_from([-1, 10**6]), reward=st.sampled_from([1.0, float("nan")]))
    def tell_nonsense(self, number: int, reward: float) -> None:
        with pytest.raises(InputError):
            self.study.tell(number, reward)

    @rule()
    def restart(self) -> None:
        self.study.close()
        self.study = open_toy(self.folder / "toy.db")
        self.out = []

    @precondition(lambda self: not self.study.done and 5 not in self.told)
    @rule()
    def run_into_a_failure(self) -> None:
        """What is handed out by hand is left alone unless the study is restarted first."""
        self.restart()
        with pytest.raises(StudyPaused):
            self.study.run(always_fails_at_5, "serial", retries=0)
        self._look()

    @invariant()
    def counts_agree(self) -> None:
        assert self.study.told == len(self.told)

    def teardown(self) -> None:
        assert AskAndTell.expected is not None
        result, rewards = AskAndTell.expected
        self._look()
        self.restart()
        try:
            assert same_result(self.study.run(linear, "serial"), result)
        finally:
            self.study.close()
        assert rewards_of(self.folder / "toy.db") == rewards
        shutil.rmtree(self.folder)

    def _look(self) -> None:
        """Every reward on disk is the right one."""
        assert AskAndTell.expected is not None
        stored = [row for row in rewards_of(self.folder / "toy.db") if row[2] == row[2]]
        assert set(stored) <= set(AskAndTell.expected[1])
        self.told = {number for number, *_ in stored}


TestAskAndTell = AskAndTell.TestCase
TestAskAndTell.settings = settings(max_examples=15, stateful_step_count=20)
