"""What many runs say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from surefoot import Gaussian, Macroreplications, RobustProblem, Settings
from surefoot.experiments.macroreplication import _true_means

PROBLEM = RobustProblem.from_pairs(np.eye(3), [0, 1, 2], arm_names=["a", "b", "c"])


def runs_of(arms: list[int], certified: list[bool], tolerance: float = 0.0) -> Macroreplications:
    settings = Settings(delta=0.05, noise=Gaussian(), misfit=math.inf, tolerance=tolerance)
    return Macroreplications(
        problem=PROBLEM,
        settings=settings,
        truth=_true_means(PROBLEM, settings, np.array([1.0, 0.9, 0.0])),
        arms=np.array(arms),
        certified=np.array(certified),
        pulls=100 * np.arange(1, len(arms) + 1),
        reasons=("IDENTIFIED",) * len(arms),
    )


def test_right_good_and_falsely_certified_are_different_things() -> None:
    found = runs_of([0, 1, 2, 2], [True, True, True, False], tolerance=0.2)
    assert (found.right.count, found.good.count, found.sure.count) == (1, 2, 3)
    assert found.certified_and_wrong.count == 1
    assert runs_of([0, 1], [True, True]).certified_and_wrong.count == 1
    assert found.mean_pulls == 250
    assert found.pulls_range == (130, 370)


def test_a_false_guarantee_is_called_refuted_and_a_true_one_is_not() -> None:
    false, true = runs_of([2] * 5 + [0] * 5, [True] * 10), runs_of([2] + [0] * 19, [True] * 20)
    assert false.refuted
    assert "5 % are allowed: refuted" in str(false)
    assert not true.refuted
    assert str(true).startswith("best: a (known")


def test_one_row_per_run() -> None:
    frame = runs_of([0, 1, 2], [True, True, False], tolerance=0.2).to_frame()
    assert frame["arm"].tolist() == ["a", "b", "c"]
    assert frame["good"].tolist() == [True, True, False]
    assert frame["pulls"].tolist() == [100, 200, 300]


def test_answers_within_any_distance_can_be_counted() -> None:
    found = runs_of([0, 1, 2], [True, True, False])
    assert [found.good_within(distance).count for distance in (0.0, 0.1, 1.0)] == [1, 2, 3]


def test_procedures_without_certificates_have_no_lines_about_them() -> None:
    found = replace(runs_of([0, 1], [False, False]), reasons=("INDIFFERENCE_ZONE",) * 2)
    assert "certified" not in str(found)
    assert "certified: 0 of 2" in str(replace(found, reasons=("BUDGET", "INDIFFERENCE_ZONE")))
