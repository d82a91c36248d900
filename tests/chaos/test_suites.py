"""Every suite makes a few trials, and all hold."""

from __future__ import annotations

import pytest

from tests.chaos.__main__ import SUITES, run_suite
from tests.chaos.trial import Suite, apart, refused_or_done

FEW = {"configurations": 150, "tables": 150, "damaged files": 3, "crafted files": 3}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_few_trials_hold(suite: Suite) -> None:
    trials = run_suite(suite, FEW.get(suite.name, 1), seed=1)
    assert trials
    assert [trial for trial in trials if trial.broken] == []


def test_what_is_not_refused_clearly_is_found() -> None:
    assert refused_or_done(lambda: int("x")) is not None
    assert refused_or_done(lambda: int("1")) is None
    assert "died with code" in str(apart(lambda: __import__("os")._exit(3), 30))
    assert "took longer" in str(apart(lambda: __import__("time").sleep(60), 0.2))
