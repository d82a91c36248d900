"""What the right answer is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surefoot import Gaussian, InputError, RobustProblem, Settings
from surefoot.experiments.macroreplication import _pooled, _true_means

PROBLEM = RobustProblem.from_pairs(np.eye(6), [0, 0, 1, 1, 2, 2], arm_names=["a", "b", "c"])
PAIRS = Settings(delta=0.1, noise=Gaussian(), misfit=math.inf)


def test_rewards_are_pooled_before_they_are_divided() -> None:
    counts = [np.array([1, 1, 9, 1, 1, 1]), np.array([1, 1, 1, 1, 1, 1])]
    sums = [np.array([0.0, 0, 9, 2, 0, 0]), np.array([0.0, 0, 6, 2, 0, 0])]
    truth = _pooled(PROBLEM, PAIRS, counts, sums)
    assert truth.values.tolist() == [0, 1.5, 0]  # the mean of the runs' means would be 2
    assert PROBLEM.arm_names[truth.best] == "b"
    assert "by the 20 rewards" in truth.source


def test_pairs_that_no_run_pulled_are_named() -> None:
    counts, sums = [np.array([1, 0, 1, 1, 0, 0])], [np.array([1.0, 0, 3, 2, 0, 0])]
    truth = _pooled(PROBLEM, PAIRS, counts, sums)
    assert truth.values.tolist() == [1, 2, -np.inf]
    assert truth.source.endswith("without 3 pairs that no run pulled")


def test_a_trusted_model_speaks_of_them_too() -> None:
    line = RobustProblem.paper([[1.0], [2.0], [3.0]], [[[0.0]]] * 3)
    model = Settings(delta=0.1, noise=Gaussian(1.0), misfit=0)
    truth = _pooled(line, model, [np.array([4, 0, 0])], [np.array([8.0, 0, 0])])
    assert truth.values == pytest.approx([2, 4, 6])


def test_what_the_user_says_is_best_is_best() -> None:
    settings = Settings(delta=0.1, noise=Gaussian(1.0), misfit=0)
    truth = _true_means(PROBLEM, settings, np.array([0.0, 0, 1, 1, 1.1, 1.1])).told(PROBLEM, "b")
    assert truth.best == 1
    assert truth.within(0.0).tolist() == [False, True, True]
    assert truth.within(2.0).all()
    with pytest.raises(InputError, match="there is no arm 'd': the arms are 'a', 'b', 'c'"):
        truth.told(PROBLEM, "d")
