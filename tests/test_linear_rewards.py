from __future__ import annotations

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

PROBLEM = RobustProblem.from_pairs([[1.0, 0.0], [0.0, 1.0], [0.5, 0.25]], [0, 0, 1])


def test_an_arm_is_worth_what_its_worst_pair_is() -> None:
    assert PROBLEM.pair_means([2.0, 4.0]).tolist() == [2.0, 4.0, 2.0]
    assert PROBLEM.robust_values([2.0, 5.0]).tolist() == [2.0, 2.25]
    assert PROBLEM.worst_pairs([2.0, 5.0]).tolist() == [0, 2]
    assert PROBLEM.best_arm([2.0, 5.0]) == 1


def test_the_gap_of_the_best_is_to_the_second() -> None:
    assert PROBLEM.robust_gaps([2.0, 5.0]).tolist() == [0.25, 0.25]
    alone = RobustProblem([[1.0]], [[[0.0]]])
    assert alone.robust_gaps([1.0]).tolist() == [np.inf]


def test_another_length_of_theta_is_refused() -> None:
    with pytest.raises(InputError, match="give one number per column"):
        PROBLEM.pair_means([1.0, 2.0, 3.0])
