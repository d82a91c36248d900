import math
from dataclasses import replace

from surefoot import Gaussian, LinearSimulator, RobustProblem, StudyReader, identify
from surefoot.view.report.page import DESCRIPTIONS, configurations, drawings
from tests.view.charts.results import finished, fresh
from tests.view.dashboard.studies import paused_study


def test_charts_come_in_the_order_of_the_page():
    assert list(drawings(finished())) == ["evidence", "arms", "allocation", "residuals"]
    assert set(drawings(finished())) < set(DESCRIPTIONS)


def test_residuals_are_drawn_only_where_a_model_is_trusted():
    result = finished()
    assert "residuals" in drawings(result)
    direct = replace(result, settings=replace(result.settings, misfit=math.inf))
    assert "residuals" not in drawings(direct)
    own = RobustProblem.paper([[1.0], [2.0]], [[[0.0], [0.5]]] * 2, features="tabular")
    simulator = LinearSimulator(own, [1.0, 2.0, 3.0, 4.0], seed=1)
    assert "residuals" not in drawings(
        identify(own, simulator, delta=0.1, noise=Gaussian(1.0), misfit=0)
    )


def test_nothing_is_drawn_before_there_is_something_to_see(tmp_path):
    assert drawings(fresh()) == {}
    with StudyReader(paused_study(tmp_path / "pilot.db")) as reader:
        assert len(reader.recorded.history) == 1
        assert "evidence" not in drawings(reader.recorded)


def test_light_and_dark_pages_have_looks_of_their_own():
    looks = configurations()
    assert looks["light"]["axis"] != looks["dark"]["axis"]
