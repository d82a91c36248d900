"""Pulls that fail: retries that succeed with the same seed, and failures that count."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InputError, SurefootWarning
from surefoot.study import Study, StudyPaused, StudyReader
from surefoot.study.file.verified import verify

ARMS = {"gain": [0.0, 1.0]}
Simulate = Callable[..., float]


def unlucky(share: float) -> Simulate:
    """Fails by randomness of its own, in the worst of its rewards."""
    own = np.random.default_rng(5)
    worst = float(np.quantile(np.random.default_rng(0).normal(size=10_000), share))

    def simulate(gain: float, rng: np.random.Generator) -> float:
        luck = float(own.normal())
        if gain == 1 and luck < worst:
            raise RuntimeError("diverged")
        return 0.5 * gain + luck + 0 * float(rng.normal())

    return simulate


def found(path: Path, simulate: Simulate, **asked: Any) -> sf.Answer:
    return sf.find(simulate, ARMS, seed=1, file=path, **({"retries": 9, "budget": 1500} | asked))


def test_a_retry_that_succeeds_with_the_same_seed_is_said_at_once_and_withholds(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.db"
    with pytest.warns(SurefootWarning, match="tried again with the same seed"):
        answer = found(path, unlucky(0.3))
    assert answer.result.reason is sf.StopReason.FAILURES_DEPEND
    assert not answer.certified
    with StudyReader(path) as reader:
        assert reader.recorded.reason is sf.StopReason.FAILURES_DEPEND
        (said,) = reader.status().changes
        assert "pulls of 'gain=1' failed" in said
    assert not verify(path)


def test_failures_that_clusters_explain_withhold_nothing(tmp_path: Path) -> None:
    fails = {5, 11}

    def simulate(gain: float, pull: sf.Pull) -> float:
        if pull.id in fails:
            fails.remove(pull.id)
            raise OSError("the network is down")
        return gain + float(pull.rng().normal())

    with pytest.warns(SurefootWarning, match="failing disk"):
        answer = found(tmp_path / "study.db", simulate)
    assert answer.certified
    assert "failed, and gave a reward" in " ".join(verify(tmp_path / "study.db").assumed)
    with StudyReader(tmp_path / "study.db") as reader:
        status = reader.status()
    assert (status.failed, status.retried, status.lost) == (0, 2, 0)


@pytest.mark.parametrize("statement", ["error = NULL", "attempts = 1", "error = 'lost: it'"])
def test_an_edit_of_failures_is_found(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "study.db"
    with pytest.warns(SurefootWarning, match="tried again with the same seed"):
        found(path, unlucky(0.3))
    assert verify(path).intact
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE pulls SET {statement} WHERE error IS NOT NULL")
        connection.execute("UPDATE pulls SET attempts = 1") if "lost" in statement else None
    assert "the origins of its rewards" in verify(path).sentence


def test_a_failed_pull_may_count(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    answer = found(path, unlucky(0.2), on_failure=-3.0, retries=0, budget=200)
    assert answer.result.reason is not sf.StopReason.FAILURES_DEPEND
    with StudyReader(path) as reader:
        pulls, (said,) = reader.pulls(), reader.status().changes
        assert (pulls["reward"] == -3).sum() == pulls["error"].notna().sum() > 0
        assert "count as was asked" in said
        assert reader.description.on_failure == -3
    with pytest.raises(InputError, match="on_failure changed"):
        found(path, unlucky(0.2), on_failure=-4.0, budget=200)


def failing(pull: sf.Pull) -> float:
    if pull.id % 3 == 0:
        raise RuntimeError("no")
    return 0.5


@pytest.mark.parametrize(("direction", "worst"), [("maximize", 0.0), ("minimize", 1.0)])
def test_the_worst_of_bounded_rewards(tmp_path: Path, direction: Any, worst: float) -> None:
    problem = sf.RobustProblem.from_lists([{"gain": 0.0}, {"gain": 1.0}])
    asked: dict[str, Any] = {"delta": 0.05, "noise": sf.Bounded(0, 1), "budget": 30, "seed": 1}
    path = tmp_path / "study.db"
    with Study.create(path, problem, direction=direction, on_failure="worst", **asked) as study:
        study.run(failing, "serial")
        assert study.told == 30
    with StudyReader(path) as reader:
        rewards = reader.pulls()["reward"]
        assert (rewards == worst).sum() == 10
        assert (rewards == 0.5).sum() == 20


def test_without_it_a_failure_pauses(tmp_path: Path) -> None:
    problem = sf.RobustProblem.from_lists([{"gain": 0.0}, {"gain": 1.0}])
    asked: dict[str, Any] = {"delta": 0.05, "noise": sf.Bounded(0, 1), "budget": 30}
    with Study.create(tmp_path / "study.db", problem, **asked) as study, pytest.raises(StudyPaused):
        study.run(failing, "serial")


@pytest.mark.parametrize(
    ("noise", "given", "said"),
    [
        (sf.Gaussian(), "worst", "Bounded"),
        (sf.Gaussian(), "skip", 'choose "retry"'),
        (sf.Gaussian(), math.nan, "a failed pull counts"),
        (sf.Bounded(0, 1), 2.0, "between 0 and 1"),
    ],
)
def test_what_a_failure_cannot_count_as(noise: Any, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sf.find(lambda gain, rng: gain, ARMS, noise=noise, on_failure=given)
