"""Whole studies, many times."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import EstimatedSimulator, Gaussian, InputError, RobustProblem, Session, Settings
from surefoot.algorithms import Result, algorithm_from
from surefoot.experiments import macroreplication as replicate
from surefoot.experiments import session as runner
from surefoot.experiments.macroreplication import macroreplicate
from surefoot.study.file.description import Description
from tests.waiting import wait_for

MEANS = np.array([1.0, 1.2, 0.0, 3.0, -1.0, 0.5])
PROBLEM = RobustProblem.from_pairs(np.eye(6), [0, 0, 1, 1, 2, 2], arm_names=["a", "b", "c"])


def description(**changes: object) -> Description:
    asked = {"delta": 0.1, "noise": Gaussian(), "misfit": math.inf} | changes
    return Description.fresh(
        "toy",
        PROBLEM,
        Settings(**asked),  # type: ignore[arg-type]
        algorithm_from("prime"),
        direction="maximize",
        seed=None,
        on_identical="refuse",
    )


def test_the_same_seed_gives_the_same_runs_and_what_is_finished_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = EstimatedSimulator(MEANS, np.ones(6))
    session = Session(runs=3, out=tmp_path, processes=1)
    done: list[int] = []

    def stopped_in_the_third(*arguments: Any) -> Result:
        done.append(len(done))
        if len(done) == 3:
            wait_for(lambda: kept(tmp_path) == 2)
            raise OSError("the machine was switched off")
        return once(*arguments)

    once = replicate.rehearse
    monkeypatch.setattr(runner, "_Processes", lambda count: Here())
    monkeypatch.setattr(replicate, "rehearse", stopped_in_the_third)
    with pytest.raises(OSError, match="switched off"):
        macroreplicate(description(), simulator, session)
    monkeypatch.setattr(replicate, "rehearse", lambda *given: done.append(9) or once(*given))
    more = macroreplicate(description(), simulator, Session(runs=5, out=tmp_path))
    assert done == [0, 1, 2, 9, 9, 9]
    assert list(tmp_path.iterdir()) == []
    again = macroreplicate(description(), simulator, Session(runs=3, out=tmp_path))
    assert more.pulls[:3].tolist() == again.pulls.tolist()
    assert len(set(more.pulls.tolist())) > 1
    assert more.right.count == 5


def kept(folder: Path) -> int:
    """Runs that are on disk."""
    return sum(file.read_bytes().count(b"\n") for file in folder.rglob("*.jsonl"))


class Here:
    """No processes: what is submitted is done in order, beside this thread."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)

    def submit_all(self, function: Any, jobs: list[tuple[Any, ...]]) -> list[Any]:
        return [self.thread.submit(function, *job) for job in jobs]

    def stop(self) -> None:
        self.thread.shutdown()


def test_it_runs_in_processes_and_counts_by_the_rewards_of_all(tmp_path: Path) -> None:
    found = macroreplicate(
        description(), noisy, Session(runs=4, out=tmp_path, processes=2), best=None
    )
    assert found.truth.best == 0
    assert "rewards of all runs together" in found.truth.source
    assert found.right.count == 4
    assert found.truth.values == pytest.approx([1.0, 0.0, -1.0], abs=0.6)


def noisy(pull: object) -> float:
    return float(MEANS[pull.pair] + pull.rng().normal())  # type: ignore[attr-defined]


def test_what_cannot_be_sent_is_refused_with_a_sentence() -> None:
    with pytest.raises(InputError, match="top level of a module"):
        macroreplicate(description(), lambda pull: 0.0)
