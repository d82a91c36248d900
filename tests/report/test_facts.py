import pytest

from surefoot import Prime, Tuning
from surefoot.charts import arms_frame
from surefoot.hardness import complexity
from surefoot.report.facts import arm_rows, certificate, number, settings_facts
from surefoot.study import StudyReader
from tests.charts.results import finished, fresh, wings
from tests.dashboard.studies import finished_study


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
    assert facts["policy"].value == "valid"
    assert facts["pulls"].value == number(result.samples)
    assert facts["boundary"].value == number(last.boundary)
    beaten = [e for arm, e in enumerate(last.evidence) if arm != result.arm]
    assert facts["evidence"].value in {number(e) for e in beaten}
    assert facts["lower bound"].value == number(hardness.lower_bound(0.05))
    assert str(result.model_check)[1:] in facts["model check"].value


def test_before_any_look_there_is_no_evidence_to_state():
    names = {fact.name for fact in certificate(fresh())}
    assert "evidence" not in names
    assert {"certified", "model check"} <= names


def test_settings_name_the_noise_and_the_features():
    facts = {fact.name: fact for fact in settings_facts(finished())}
    assert facts["noise"].value == "Gaussian noise of scale at most 1"
    assert {fact.name: fact for fact in settings_facts(fresh())}["noise"].value.startswith(
        "differences of batch means that are nearly normal"
    )
    assert "parameter 0, parameter 1" in facts["dimension"].note


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
