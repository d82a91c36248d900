"""The page of a report: what it holds, what it states, and how it reads."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from surefoot import (
    Gaussian,
    LinearSimulator,
    Outcome,
    Prime,
    RobustProblem,
    Study,
    StudyReader,
    Tuning,
    identify,
)
from surefoot.cli import main
from surefoot.design.hardness import complexity
from surefoot.view.charts import arms_frame
from surefoot.view.charts.drawing import vega_script
from surefoot.view.report import facts as hardness
from surefoot.view.report import result_page, study_page
from surefoot.view.report.facts import arm_rows, certificate, number, settings_facts
from surefoot.view.report.page import DESCRIPTIONS, drawings, fingerprint, safe_json
from tests.view.charts.results import EVIL, WINGS, finished, fresh, wings
from tests.view.charts.test_charts import limited
from tests.view.dashboard.studies import finished_study, grid_study, paused_study


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
        (-2, "−2"),
        (0.123456, "0.1235"),
        (15637.0, "15,637"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert number(value) == text


def test_the_certificate_states_what_the_answer_rests_on():
    problem, theta = wings()
    result, hardness = finished(), complexity(problem, theta)
    facts = {fact.name: fact for fact in certificate(result, hardness)}
    last = result.history[-1]
    assert facts["certified"].value == "yes"
    assert "0.05" in facts["confidence"].note
    assert "rules" not in facts
    assert facts["pulls"].value == number(result.samples)
    assert facts["boundary"].value == number(last.boundary)
    beaten = [e for arm, e in enumerate(last.evidence) if arm != result.arm]
    assert facts["evidence"].value in {number(e) for e in beaten}
    assert facts["lower bound"].value == number(hardness.lower_bound(0.05))
    assert facts["checks"].value == result.checks
    assert "runner-up" in facts["evidence"].note


def test_before_any_look_there_is_no_evidence_to_state():
    names = {fact.name for fact in certificate(fresh())}
    assert "evidence" not in names
    assert {"certified", "checks"} <= names


def test_settings_name_the_noise_and_the_features():
    facts = {fact.name: fact for fact in settings_facts(finished())}
    assert facts["noise"].value == "Gaussian noise of scale at most 1"
    assert {fact.name: fact for fact in settings_facts(fresh())}["noise"].value.startswith(
        "differences of pulls, or of means of a few, that are nearly normal"
    )
    assert "parameter 0, parameter 1" in facts["features"].value


def test_options_are_shown_where_they_differ_from_the_defaults(tmp_path):
    own = {"tuned": Prime(Tuning(growth=1.2)), "plain": Prime()}
    shown = {}
    for name, algorithm in own.items():
        finished_study(tmp_path / f"{name}.db", algorithm=algorithm)
        with StudyReader(tmp_path / f"{name}.db") as reader:
            facts = settings_facts(finished(), reader)
        shown[name] = {fact.name: fact.value for fact in facts}["options"]
    assert shown == {"tuned": '{"tuning": {"growth": 1.2}}', "plain": "none differ"}


def test_arms_without_data_show_dashes():
    assert {row["value"] for row in arm_rows(arms_frame(fresh()))} == {"–"}


def test_assumptions_come_in_the_order_of_their_importance():
    facts = certificate(finished())
    assumed = [fact.value for fact in facts if fact.name.startswith("assumed")]
    assert assumed == [
        "pulls are independent",
        "means are linear in the features",
        "Gaussian noise of scale at most 1",
    ]


def _directly(sign, seed=1):
    """Direct comparisons of rewards with rare large values in one direction."""
    generator = np.random.default_rng(seed)
    problem = RobustProblem.from_pairs(np.eye(4), [0, 0, 1, 1])
    means = np.array([0.3, 0.5, -0.3, 0.5])

    class Skewed:
        def pull(self, phase):
            pairs = np.repeat(np.arange(4), phase.counts)
            noise = generator.standard_normal(len(pairs))
            noise[pairs < 2] += sign * (generator.standard_exponential((pairs < 2).sum()) ** 2 - 2)
            return Outcome.from_rewards(phase, 4, pairs, means[pairs] + noise)

    return identify(problem, Skewed(), delta=0.05, noise=Gaussian(), misfit=math.inf, budget=4000)


@pytest.mark.parametrize(
    ("sign", "words"), [(-1, "rare large losses"), (1, "rare large wins"), (0, "taken for normal")]
)
def test_the_certificate_says_how_skewed_the_deciding_differences_were(sign, words):
    result = _directly(sign)
    assert np.sign(result.skewness) == sign or abs(result.skewness) < 0.5
    facts = {fact.name: fact for fact in certificate(result)}
    assert words in facts["differences"].value
    assert ("The deciding differences" in repr(result)) == (sign < 0)
    assert "compared directly" in facts["assumed of means"].value


def test_where_nothing_is_taken_for_normal_nothing_is_said_of_skewness():
    assert finished().skewness is None
    assert "differences" not in {fact.name for fact in certificate(finished())}


def test_it_is_the_complexity_at_the_estimate():
    result = finished()
    expected = complexity(result.problem, result.theta, hardness.TOLERANCE)
    assert hardness.estimated_hardness(result).exact == pytest.approx(expected.exact)


def test_there_is_no_telling_without_data_or_with_too_many_pairs(monkeypatch):
    assert hardness.estimated_hardness(fresh()) is None
    monkeypatch.setattr(hardness, "LARGEST", 3)
    assert hardness.estimated_hardness(finished()) is None


def test_there_is_none_for_other_questions_than_the_best_worst_case_of_all_arms():
    assert hardness.estimated_hardness(limited()) is None
    result = finished()
    asked = replace(result.settings, measure="mean")
    assert hardness.estimated_hardness(replace(result, settings=asked)) is None


def test_without_a_model_it_is_that_of_the_pairs_by_themselves():
    result = finished()
    direct = replace(result, settings=replace(result.settings, misfit=math.inf))
    own = RobustProblem.from_pairs(np.eye(result.problem.n_pairs), result.problem.arm_of_pair)
    expected = complexity(own, result.pair_means, hardness.TOLERANCE)
    found = hardness.estimated_hardness(direct)
    assert found.exact == pytest.approx(expected.exact)
    assert found.exact > hardness.estimated_hardness(result).exact
