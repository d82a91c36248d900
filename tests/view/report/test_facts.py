import math

import numpy as np
import pytest

from surefoot import Gaussian, Outcome, Prime, RobustProblem, Tuning, identify
from surefoot.design.hardness import complexity
from surefoot.study import StudyReader
from surefoot.view.charts import arms_frame
from surefoot.view.report.facts import arm_rows, certificate, number, settings_facts
from tests.view.charts.results import finished, fresh, wings
from tests.view.dashboard.studies import finished_study


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
