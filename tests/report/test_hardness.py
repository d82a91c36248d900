import pytest

from surefoot.hardness import complexity
from surefoot.report import hardness
from tests.charts.results import finished, fresh


def test_it_is_the_complexity_at_the_estimate():
    result = finished()
    expected = complexity(result.problem, result.theta, hardness.TOLERANCE)
    assert hardness.estimated_hardness(result).exact == pytest.approx(expected.exact)


def test_there_is_no_telling_without_data_or_with_too_many_pairs(monkeypatch):
    assert hardness.estimated_hardness(fresh()) is None
    monkeypatch.setattr(hardness, "LARGEST", 3)
    assert hardness.estimated_hardness(finished()) is None
