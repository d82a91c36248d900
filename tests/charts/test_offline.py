import altair as alt
import pytest

from surefoot.view.charts import arms_chart, evidence_chart, samples_chart
from surefoot.view.charts.offline import page, vega_script
from tests.browser import Watched, launched
from tests.charts.results import finished
from tests.charts.test_samples import FRAME


def test_a_cell_of_a_notebook_holds_all_that_its_chart_needs():
    (html,) = evidence_chart(finished())._repr_mimebundle_().values()
    assert vega_script() in html
    assert "<script src" not in html
    assert "<script>alert" not in html  # an arm of that name is in the chart


def test_a_chart_that_was_changed_is_still_shown_without_a_network():
    chart = samples_chart(FRAME, "d").properties(width=200)
    assert set(chart._repr_mimebundle_()) == {"text/html"}


def test_a_renderer_that_the_user_chose_stays_in_charge():
    with alt.renderers.enable("mimetype"):
        assert "text/html" not in arms_chart(finished())._repr_mimebundle_()


@pytest.mark.browser
def test_a_browser_without_a_network_draws_it(tmp_path):
    (html,) = arms_chart(finished())._repr_mimebundle_().values()
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{html}")
    (tmp_path / "page.html").write_text(page(arms_chart(finished()).to_dict()))
    with launched() as browser, Watched(browser, f"file://{tmp_path}") as watched:
        for name in ("cell", "page"):
            watched.page.goto(f"file://{tmp_path}/{name}.html")
            watched.page.wait_for_selector(".vega-embed canvas, .vega-embed svg", timeout=30_000)
        assert not watched.trouble


def test_a_page_is_the_same_whenever_it_is_written():
    spec = arms_chart(finished()).to_dict()
    assert page(spec) == page(spec)
