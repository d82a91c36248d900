"""Suites without moments, processes or load make a few small trials here, and all hold.

The others are for `make chaos`: what they find depends on the machine.
"""

from __future__ import annotations

import re

import pytest

from tests.chaos.__main__ import SUITES, run_suite
from tests.chaos.edits import Edits, commitments, cuts, flips, origins, reorderings, rewards
from tests.chaos.files import crafted, damaged
from tests.chaos.inputs import configurations, tables
from tests.chaos.places import logs
from tests.chaos.sheets import corrections, sorted_apart
from tests.chaos.trial import Suite, apart, refused_or_done
from tests.documents import ROOT

SMALL = [
    Suite("damaged files", 2, damaged),
    Suite("crafted files", 3, crafted),
    Suite("edited rewards", 3, Edits(rewards)),
    Suite("edited commitments", 3, Edits(commitments)),
    Suite("reordered studies", 3, Edits(reorderings)),
    Suite("edited origins", 18, Edits(origins)),
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


def test_every_promise_names_a_trial_and_every_suite_tries_one() -> None:
    page = (ROOT / "docs" / "guides" / "trust.md").read_text()
    section = page.split("## What is promised\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    trials = [row[-1].strip() for row in rows[1:] if not row[0].strip().startswith("**")]
    files = {file for said in trials for file in re.findall(r"`(tests/[\w/]+\.py)`", said)}
    named = {suite.name for suite in SUITES if any(suite.name in said for said in trials)}
    assert all(trials)
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert named == {suite.name for suite in SUITES}
    for said in trials:
        rest = re.sub(r"`tests/[\w/]+\.py`|chaos:", "", said)
        for suite in sorted(SUITES, key=lambda suite: -len(suite.name)):
            rest = rest.replace(suite.name, "")
        assert rest.strip(" ,;") == "", f"no trial is called {rest!r}"
