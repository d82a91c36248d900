import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import RobustProblem
from surefoot.design.hardness import complexity
from surefoot.view.report import facts as hardness
from tests.view.charts.results import finished, fresh


def test_it_is_the_complexity_at_the_estimate():
    result = finished()
    expected = complexity(result.problem, result.theta, hardness.TOLERANCE)
    assert hardness.estimated_hardness(result).exact == pytest.approx(expected.exact)


def test_there_is_no_telling_without_data_or_with_too_many_pairs(monkeypatch):
    assert hardness.estimated_hardness(fresh()) is None
    monkeypatch.setattr(hardness, "LARGEST", 3)
    assert hardness.estimated_hardness(finished()) is None


def test_without_a_model_it_is_that_of_the_pairs_by_themselves():
    result = finished()
    direct = replace(result, settings=replace(result.settings, misfit=math.inf))
    own = RobustProblem.from_pairs(np.eye(result.problem.n_pairs), result.problem.arm_of_pair)
    expected = complexity(own, result.pair_means, hardness.TOLERANCE)
    found = hardness.estimated_hardness(direct)
    assert found.exact == pytest.approx(expected.exact)
    assert found.exact > hardness.estimated_hardness(result).exact
