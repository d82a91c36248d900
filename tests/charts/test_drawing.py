import json

import pytest
import vl_convert

from surefoot.view.charts.allocation import allocation_drawing
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.evidence import evidence_drawing
from surefoot.view.charts.residuals import residuals_drawing
from surefoot.view.charts.theme import config
from tests.charts.results import finished, fresh, many

ALL = [arms_drawing, evidence_drawing, allocation_drawing, residuals_drawing]


@pytest.mark.parametrize("draw", ALL)
def test_the_quick_specification_is_that_of_the_chart(draw):
    drawing = draw(finished())
    assert drawing.chart().to_dict() == drawing.spec() | {
        "config": config(),
        "$schema": drawing.spec()["$schema"],
    }


def test_filling_in_rows_and_categories_leaves_the_template_alone():
    one, other = evidence_drawing(finished()).spec(), evidence_drawing(many()).spec()
    assert "$arms" not in json.dumps(one) + json.dumps(other)
    assert one != other
    assert evidence_drawing(finished()).spec() == one


@pytest.mark.parametrize("result", [finished, many])
def test_vega_draws_every_chart(result):
    for draw in ALL:
        svg = vl_convert.vegalite_to_svg(draw(result()).chart().to_dict())
        assert "NaN" not in svg
        assert svg.count("<path") > 2


def test_charts_without_data_are_drawn_empty():
    for draw in ALL:
        assert vl_convert.vegalite_to_svg(draw(fresh()).chart().to_dict()).startswith("<svg")
