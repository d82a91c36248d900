"""A report in a real browser, without a network."""

import math

import pytest

from surefoot import Gaussian, LinearSimulator, RobustProblem, identify
from surefoot.view.charts import evidence_frame
from surefoot.view.report import result_page
from tests.browser import LOOKS, PHONE, Watched, launched
from tests.view.charts.results import finished

pytestmark = pytest.mark.browser
# how far to the right the entries of legends reach, and what the rows of the pairs are called
RIGHT_ENDS = """Math.max(...[...document.querySelectorAll(".role-legend-label text")]
  .map((entry) => entry.getBoundingClientRect().right))"""
CUT = """[...document.querySelectorAll('.scroll')]
  .filter((table) => table.scrollWidth > table.clientWidth).length"""
ROWS = """[...document.querySelectorAll('[data-chart=allocation] .role-axis-label text')]
  .map((row) => row.textContent).filter((name) => name.length > 4)"""


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


def test_long_names_fit_a_phone(tmp_path, browser):
    """Legends stay within the page, and rows of pairs can be told apart where they are cut."""
    names = [f"a clinic on the edge of the town, with {n} nurses, day and night" for n in range(6)]
    arms = [[0.2 * n, 1.0] for n in range(6)]
    days = [["calm", "flu"]] * 6
    problem = RobustProblem.paper(
        arms, [[[0.0, 0.0], [0.1, 0.3]]] * 6, arm_names=names, perturbation_names=days
    )
    simulator = LinearSimulator(problem, [1.0, 0.5], noise=0.3, seed=1)
    result = identify(problem, simulator, delta=0.05, noise=Gaussian(), misfit=math.inf)
    file = tmp_path / "long.html"
    file.write_text(result_page(result), encoding="utf-8")
    with Watched(browser, file.as_uri(), PHONE) as watched:
        watched.page.goto(file.as_uri())
        watched.wait_for_charts("evidence", "arms", "allocation")
        assert not watched.overflows()
        assert watched.page.evaluate(RIGHT_ENDS) <= PHONE["width"]
        rows = watched.page.evaluate(ROWS)
        watched.screenshot("report-long-names-phone")
        assert watched.trouble == []
    assert len(rows) == len(set(rows)) > 6


def test_a_report_opens_offline_and_draws_its_charts(tmp_path, browser):
    file = tmp_path / "report.html"
    file.write_text(result_page(finished(), title="Wings"), encoding="utf-8")
    for scheme, size, viewport in LOOKS:
        with Watched(browser, file.as_uri(), viewport, scheme) as watched:
            watched.context.set_offline(True)
            watched.page.goto(file.as_uri())
            watched.wait_for_charts("evidence", "arms", "allocation", "bounds", "residuals")
            rows = watched.page.evaluate("surefoot.view('evidence').data('evidence')")
            assert [row["evidence"] for row in rows] == evidence_frame(finished())[
                "evidence"
            ].tolist()
            assert not watched.overflows()
            assert not watched.page.evaluate(CUT)
            watched.screenshot(f"report-{scheme}-{size}")
            assert watched.trouble == []
