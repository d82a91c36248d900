"""The page of a report: what it holds, and how it reads."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from surefoot import Gaussian, LinearSimulator, RobustProblem, Study, StudyReader, identify
from surefoot.cli import main
from surefoot.view.charts.drawing import vega_script
from surefoot.view.report import result_page, study_page
from surefoot.view.report.page import fingerprint, safe_json
from tests.view.charts.results import EVIL, WINGS, finished, fresh, wings
from tests.view.dashboard.studies import grid_study


def payload_of(page):
    return json.loads(
        re.search(r'<script type="application/json" id="charts">(.*?)</script>', page, re.S).group(
            1
        )
    )


def test_a_name_never_becomes_markup():
    page = result_page(finished(), title=EVIL)
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert EVIL in {row["arm"] for row in payload_of(page)["charts"]["arms"]["datasets"]["arms"]}


def test_json_cannot_end_its_script():
    text = safe_json({"name": "</script><!--&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": "</script><!--&"}


def test_the_page_fetches_nothing_and_runs_only_what_it_names():
    page = finished().to_html()
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?!#)', markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 3


def test_the_page_holds_the_answer_the_charts_and_every_arm():
    result = finished()
    page = result_page(result)
    assert result.sentence in page
    assert set(payload_of(page)["charts"]) == {
        "evidence",
        "arms",
        "allocation",
        "bounds",
        "residuals",
    }
    assert page.count('<th scope="row">') >= result.problem.n_arms
    assert result.reason.value in page


def test_a_page_of_many_arms_shows_a_part_of_them_and_says_so():
    means = np.linspace(0, 30, 6000)
    problem = RobustProblem.from_pairs(np.eye(6000)[:, :1] + means[:, None], np.arange(6000) // 3)
    simulator = LinearSimulator(problem, np.ones(1), 1.0, seed=1)
    result = identify(problem, simulator, delta=0.05, noise=Gaussian(1.0), misfit=0.0)
    page = result_page(result)
    charts, drawn = payload_of(page)["charts"], page.count('<th scope="row">')
    assert 1000 <= drawn < 1100
    assert "The first 1,000 of 2,000 arms; `surefoot export` writes a table of all." in page
    assert len(charts["arms"]["datasets"]["arms"]) == 1000
    assert "1,000 of 2,000 arms are drawn" in charts["arms"]["title"]["subtitle"]
    assert len(page.encode()) < 4e6


def test_a_result_without_data_has_a_page_without_charts():
    page = result_page(fresh())
    assert payload_of(page)["charts"] == {}
    assert "Nothing is known without a pull" in page


@pytest.fixture
def study_file(tmp_path):
    problem, theta = wings()
    with Study.create(
        tmp_path / "wings.db",
        problem,
        delta=0.05,
        noise=Gaussian(1.0),
        misfit=0,
        seed=8,
        direction="minimize",
        name=EVIL,
    ) as study:
        study.run(lambda pull: float(-pull.features @ theta + pull.rng().normal()), "serial")
    return tmp_path / "wings.db"


def test_a_study_that_minimises_is_reported_in_its_own_unit(study_file):
    with StudyReader(study_file) as reader:
        page, result = study_page(reader), reader.result
    rows = {row["arm"]: row for row in payload_of(page)["charts"]["arms"]["datasets"]["arms"]}
    assert rows[result.arm_name]["value"] == result.values[result.arm]
    assert "minimize" in page
    assert str(reader.description.seed) in page
    assert EVIL not in page


def test_the_command_writes_one_file(study_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["report", str(study_file), "-o", "out/answer.html"])
    assert end.value.code == 0
    assert "has the best worst case" in capsys.readouterr().out
    assert "</html>" in (tmp_path / "out" / "answer.html").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["answer.html"]


@pytest.mark.parametrize(("best", "warnings"), [(3.0, 1), (2.0, 0)])
def test_a_winner_at_the_end_of_its_grid_is_pointed_out_once(tmp_path, best, warnings):
    with StudyReader(grid_study(tmp_path / "grid.db", best)) as reader:
        assert study_page(reader).count("is at the end of the values of gain") == warnings


def test_vega_comes_with_its_interpreter_and_cannot_end_its_script():
    script = vega_script()
    assert "vegaEmbed" in script
    assert "</script" not in script
    assert vega_script() is script


def test_a_fingerprint_is_that_of_the_policy():
    expected = base64.b64encode(hashlib.sha256(b"a").digest()).decode()
    assert fingerprint("a") == f"sha256-{expected}"


def test_a_cell_shows_answer_certificate_and_phases_without_script():
    html = finished()._repr_html_()
    assert finished().sentence.split(" has ")[0] in html
    assert "boundary" in html
    assert f"{len(finished().history)} phases" in html
    assert "<script" not in html
    assert EVIL in WINGS
