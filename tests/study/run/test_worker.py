"""Where the simulator runs: errors become reports."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.study import Pull
from surefoot.study.run.worker import _as_reward, run_chunk

PULLS = [Pull(n, "abc", 0, 0, "arm", "none", {"a": 1.0}, np.zeros(1), 5) for n in range(3)]


@pytest.mark.parametrize("value", [1, 1.5, np.float32(2), np.array(3.0)])
def test_numbers_of_all_kinds_are_rewards(value: object) -> None:
    assert isinstance(_as_reward(value), float)


@pytest.mark.parametrize(
    "value", [None, "1.0", True, float("nan"), -np.inf, 1e160, np.zeros(2), 1j]
)
def test_other_things_are_not(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        _as_reward(value)


@pytest.mark.parametrize("value", [{"cost": "high"}, {1: 1.0}, [1.0], None])
def test_what_came_instead_of_a_number_is_said(value: object) -> None:
    (report, *_) = run_chunk(lambda pull: value, PULLS)  # type: ignore[arg-type, return-value]
    assert report.error is not None
    assert "the simulator returned" in report.error
    assert "one number" in report.error or "output" in report.error
    assert "worker.py" not in report.error


def test_a_truth_value_is_told_to_be_a_number() -> None:
    with pytest.raises(TypeError, match=r"returned True: it must .*for success or failure, 1 or 0"):
        _as_reward(True)


def test_a_chunk_of_slow_pulls_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.study.run.worker.LONGEST_CHUNK", 0.0)
    assert [report.id for report in run_chunk(lambda pull: 1.0, PULLS)] == [0]


@pytest.mark.parametrize("error", [KeyError("lift"), SystemExit("lift")])
def test_an_error_does_not_stop_the_chunk(error: BaseException) -> None:
    def simulator(pull: Pull) -> float:
        if pull.id == 1:
            raise error
        return float(pull.id)

    reports = run_chunk(simulator, PULLS)
    assert [report.reward for report in reports] == [0.0, None, 2.0]
    assert reports[1].error is not None
    assert reports[1].error.startswith(f"{type(error).__name__}: ")
    assert "lift" in reports[1].error
    assert "in simulator" in reports[1].error
    assert all(
        report.started is not None and report.finished >= report.started for report in reports
    )


def test_half_a_character_in_a_message_can_be_stored() -> None:
    def simulator(pull: Pull) -> float:
        raise ValueError("no file \udcff here")

    (report,) = run_chunk(simulator, PULLS[:1])
    assert report.error is not None
    assert report.error.startswith("ValueError: no file \\udcff here")
    report.error.encode("utf-8")
