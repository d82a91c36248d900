"""A report in a real browser, without a network."""

import pytest

from surefoot.charts import evidence_frame
from surefoot.report import result_page
from tests.browser import LOOKS, Watched, launched
from tests.charts.results import finished

pytestmark = pytest.mark.browser


def test_a_report_opens_offline_and_draws_its_charts(tmp_path):
    file = tmp_path / "report.html"
    file.write_text(result_page(finished(), title="Wings"), encoding="utf-8")
    with launched() as browser:
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
                watched.screenshot(f"report-{scheme}-{size}")
                assert watched.trouble == []
