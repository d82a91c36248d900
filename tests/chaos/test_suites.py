"""Suites without moments, processes or load make a few small trials here, and all hold.

The others are for `make chaos`: what they find depends on the machine.
"""

from __future__ import annotations

import pytest

from tests.chaos.__main__ import run_suite
from tests.chaos.edits import Edits, commitments, cuts, flips, reorderings, rewards
from tests.chaos.files import crafted, damaged
from tests.chaos.inputs import configurations, tables
from tests.chaos.places import logs
from tests.chaos.sheets import corrections, sorted_apart
from tests.chaos.trial import Suite, apart, refused_or_done

SMALL = [
    Suite("damaged files", 2, damaged),
    Suite("crafted files", 3, crafted),
    Suite("edited rewards", 3, Edits(rewards)),
    Suite("edited commitments", 3, Edits(commitments)),
    Suite("reordered studies", 3, Edits(reorderings)),
    Suite("flipped bits", 2, flips),
    Suite("cuts at 512 bytes", 3, cuts),
    Suite("cut and foreign logs", 3, logs),
    Suite("sheets sorted apart", 12, sorted_apart),
    Suite("corrections", 2, corrections),
    Suite("configurations", 100, configurations),
    Suite("tables", 100, tables),
]


@pytest.mark.parametrize("suite", SMALL, ids=lambda suite: suite.name)
def test_a_few_trials_hold(suite: Suite) -> None:
    trials = run_suite(suite, suite.count, seed=1)
    assert trials
    assert [trial for trial in trials if trial.broken] == []


def test_what_is_not_refused_clearly_is_found() -> None:
    assert refused_or_done(lambda: int("x")) is not None
    assert refused_or_done(lambda: int("1")) is None
    assert "died with code" in str(apart(lambda: __import__("os")._exit(3), 30))
    assert "took longer" in str(apart(lambda: __import__("time").sleep(60), 0.2))
