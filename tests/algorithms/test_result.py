"""Results: what a result says, and when, and what its outputs are held against."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms import Result, StopReason, Tally
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.verdict import Verdict
from surefoot.experiments.instances import random_robust
from surefoot.noise import Bounded, Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.simulate import LinearSimulator, identify
from surefoot.statistics import Outcome, Phase


@pytest.fixture(scope="module")
def result() -> Result:
    problem, theta = random_robust(5, 4, 3)
    return identify(
        problem,
        LinearSimulator(problem, theta, seed=0),
        "robust-static",
        delta=0.05,
        noise=Gaussian(1.0),
    )


def test_the_sentence_holds_the_answer(result: Result) -> None:
    assert result.arm_name in result.sentence
    assert "95 % confidence" in result.sentence
    assert str(result.samples) in result.sentence


def test_a_confidence_is_worked_out_when_it_is_asked_for_and_once(result: Result) -> None:
    asked: list[int] = []

    def work_out() -> float:
        asked.append(1)
        return 0.75

    later = replace(result, confidence_later=work_out)
    assert not asked
    assert later.attained_confidence == later.attained_confidence == 0.75
    assert len(asked) == 1
    sent = pickle.loads(pickle.dumps(replace(result, confidence_later=work_out)))
    assert sent.attained_confidence == 0.75
    assert copy.copy(later).attained_confidence == 0.75
    assert len(asked) == 2


def test_values_lie_within_their_intervals(result: Result) -> None:
    assert result.values == pytest.approx(result.problem.robust_values(result.theta))
    assert (result.lower < result.values).all()
    assert (result.values < result.upper).all()
    assert np.argmax(result.values) == result.arm


def test_the_worst_pair_is_the_arms_own(result: Result) -> None:
    assert result.problem.arm_of_pair[result.worst_pair] == result.arm
    assert result.pair_means[result.worst_pair] == pytest.approx(result.values[result.arm])


def test_the_history_as_a_table(result: Result) -> None:
    frame = result.to_frame()
    assert frame["phase"].tolist() == list(range(len(result.history)))
    assert frame["pulls"].sum() == frame["total"].iloc[-1] == result.samples
    assert frame["survivors"].iloc[-1] == 1
    assert frame["weakest_evidence"].iloc[-1] >= frame["boundary"].iloc[-1]
    assert (frame["weakest_evidence"].iloc[:-1] < frame["boundary"].iloc[:-1]).all()


def test_the_table_shows_evidence_against_arms_that_were_still_possible() -> None:
    """Evidence against an arm that is out no longer grows, and may fall below the boundary
    again.
    """
    wear = [[[0, 0], [1.2, 0]], [[0, 0], [0.4, 0.2]], [[0, 0], [0.2, 0.8]]]
    problem = RobustProblem.paper([[2.0, 0.0], [1.2, 1.0], [0.4, 1.6]], wear)
    for seed in range(10):
        simulator = LinearSimulator(problem, [1.0, 0.6], seed=seed)
        frame = identify(problem, simulator, delta=0.05, noise=Gaussian(1.0), misfit=0).to_frame()
        decided = frame["weakest_evidence"] >= frame["boundary"]
        assert (decided == (frame["survivors"] == 1)).all()


def test_notebooks_see_the_answer_and_the_history(result: Result) -> None:
    html = result._repr_html_()
    assert result.sentence in html
    assert "<table" in html
    assert html.count("<tr>") >= len(result.history)


def test_names_are_escaped_for_notebooks() -> None:
    problem, theta = random_robust(2, 2, 2)
    named = type(problem).from_pairs(
        problem.pairs, problem.arm_of_pair, arm_names=["<b>a</b>", "<i>b</i>"]
    )
    shown = identify(
        named, LinearSimulator(named, theta, seed=0), "uniform", delta=0.05, noise=Gaussian(1.0)
    )
    assert "<b>a" not in shown._repr_html_()
    assert "<i>b" not in shown._repr_html_()


def test_an_interval_of_a_success_rate_is_a_rate() -> None:
    problem = RobustProblem.paper([[0.9, 0.1], [0.1, 0.4]], [[[0.0, 0.0], [0.2, 0.0]]] * 2)
    simulator = LinearSimulator(problem, [0.9, 0.5], family="bernoulli", seed=1)
    few = identify(problem, simulator, delta=0.1, noise=Bounded(0, 1), misfit=math.inf, budget=30)
    assert (few.lower >= 0).all()
    assert (few.upper <= 1).all()
    assert (few.problem.worst_of(few.pair_lower) < 0).any()


def test_checks_speak_of_what_was_assumed_and_of_nothing_else(result: Result) -> None:
    settings = result.settings

    def said(**changes: Any) -> str:
        return replace(result, settings=replace(settings, **changes)).checks

    assert said().startswith("model not rejected (p = ")
    assert "stated noise not rejected" in said()
    assert said(misfit=math.inf, noise=Gaussian()) == "no model trusted"
    assert "equal noise" in said(misfit=math.inf, noise=Gaussian(equal=True))
    assert "equal noise" not in said(noise=Gaussian())


def test_a_rejected_model_is_never_answered_by_another_model() -> None:
    for word in ("quadratic", "tabular", "linear"):
        assert word not in StopReason.MODEL_REJECTED.value
    assert "misfit=math.inf" in StopReason.MODEL_REJECTED.value


# Outputs that have limits: estimates by pair, and what limits are held against.

LIMITS = {
    "failed": {"at_most": 0.4, "noise": sf.Bounded(0, 1)},
    "wait": [{"at_most": 30, "measure": "mean"}, {"at_least": 5}],
}


def test_each_limit_is_held_against_its_own_measure_of_the_pairs() -> None:
    problem = sf.RobustProblem.from_lists(
        [{"a": 0.0}, {"a": 2.0}], {"planned": {}, "worn": {"a": 1.0}}
    )
    settings = Settings(delta=0.05, noise=sf.Gaussian(), limits=LIMITS)
    generator, pairs = np.random.default_rng(5), np.repeat(np.arange(4), 500)
    waits = np.array([4.0, 10.0, 20.0, 50.0])[pairs] + generator.standard_normal(2000)
    failed = (generator.random(2000) < np.array([0.1, 0.5, 0.2, 0.3])[pairs]).astype(float)
    phase = Phase(0, np.full(4, 500))
    rewards = generator.standard_normal(2000)
    others = {"failed": failed, "wait": waits, "beside": waits}
    outcome = Outcome.from_rewards(phase, 4, pairs, rewards, others)
    tally = Tally.empty(problem, settings).after(outcome)
    survivors = np.ones(2, dtype=bool)
    result = tally.result(Verdict("any", 0, StopReason.RUNNING, survivors, []))
    assert set(result.outputs) == {"failed", "wait"}
    np.testing.assert_allclose(result.outputs["wait"].means, waits.reshape(4, -1).mean(axis=1))
    rate, mean, least = result.against_limits
    np.testing.assert_allclose(rate.values, failed.reshape(4, -1).mean(axis=1)[[1, 3]])
    assert mean.values == pytest.approx([7.0, 35.0], abs=0.3)
    assert least.values == pytest.approx([4.0, 20.0], abs=0.3)
    for each in result.against_limits:
        assert (each.lower < each.values).all()
        assert (each.values < each.upper).all()
    assert 0 <= rate.lower.min() <= rate.upper.max() <= 1
    turned = result.turned(settings)
    assert turned.against_limits[1].values.tolist() == mean.values.tolist()


def test_reasons_that_certify() -> None:
    assert {r for r in StopReason if r.certifies} == {
        StopReason.IDENTIFIED,
        StopReason.WITHIN_TOLERANCE,
        StopReason.ONE_ARM,
        StopReason.NONE_QUALIFIES,
        StopReason.BEATS_BASELINE,
    }
