import json
import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Bounded, Gaussian, LinearSimulator, RobustProblem, SubGaussian, identify
from surefoot.view.charts import evidence_chart, evidence_frame
from tests.view.charts.results import finished, fresh, many


@pytest.mark.parametrize("algorithm", ["prime", "robust-rage", "robust-static"])
def test_what_is_drawn_is_what_decided(algorithm):
    result = finished(algorithm)
    records = {record.phase: record for record in result.history}
    frame = evidence_frame(result, rivals=10)
    assert len(frame)
    for row in frame.to_dict("records"):
        record, arm = records[row["phase"]], result.problem.arm_names.index(row["arm"])
        assert row["evidence"] == record.evidence[arm]
        assert row["boundary"] == record.boundary
        assert row["pulls"] == record.total
    gone = frame[frame["eliminated"]]
    assert (gone["evidence"] >= gone["boundary"]).all()
    assert set(gone["arm"]) == set(result.problem.arm_names) - {result.arm_name}


def test_a_line_ends_where_its_arm_is_eliminated_for_good():
    result = finished()
    for name, line in evidence_frame(result, rivals=10).groupby("arm"):
        arm = result.problem.arm_names.index(name)
        alive = [record.survivors[arm] for record in result.history if record.boundary is not None]
        assert len(line) == sum(alive) + 1
        assert line["eliminated"].tolist() == [False] * sum(alive) + [True]


def test_the_runner_up_comes_first_and_then_those_that_lasted_longest():
    result = many()
    last = [record for record in result.history if record.evidence is not None][-1]
    shown = list(dict.fromkeys(evidence_frame(result, rivals=4)["arm"]))
    others = [arm for arm in np.argsort(last.evidence) if last.survivors[arm] and arm != result.arm]
    assert len(others) >= 4, "the budget leaves several arms"
    ranked = [arm for arm in np.argsort(-result.values) if arm != result.arm]
    assert shown[0] == result.problem.arm_names[ranked[0]]
    rest = [arm for arm in others if arm != ranked[0]]
    assert shown[1:] == [result.problem.arm_names[arm] for arm in rest[:3]]


@pytest.mark.parametrize("misfit", [0.0, math.inf])
@pytest.mark.parametrize(
    "noise",
    [Gaussian(0.5), Gaussian(), Gaussian(equal=True), SubGaussian(0.5), Bounded(0, 1)],
    ids=repr,
)
def test_every_noise_model_shows_its_evidence(noise, misfit):
    problem = RobustProblem.paper([[0.9, 0.1], [0.1, 0.4]], [[[0.0, 0.0], [0.2, 0.0]]] * 2)
    simulator = LinearSimulator(problem, [0.9, 0.5], family="bernoulli", seed=1)
    result = identify(problem, simulator, delta=0.1, noise=noise, misfit=misfit, on_misfit="ignore")
    frame = evidence_frame(result)
    assert result.certified
    assert frame["eliminated"].any()
    assert np.isfinite(frame["boundary"]).all()


def test_infinite_evidence_leaves_a_gap_not_a_broken_chart():
    result = finished("robust-rage")
    record = result.history[0]
    evidence = record.evidence.copy()
    evidence[(result.arm + 1) % len(evidence)] = np.inf
    broken = replace(result, history=[replace(record, evidence=evidence)])
    rows = evidence_chart(broken, rivals=10).to_dict()["datasets"]["evidence"]
    assert [row["evidence"] for row in rows].count(None) == 1


def test_before_the_first_look_the_chart_says_so():
    spec = evidence_chart(fresh()).to_dict()
    assert spec["datasets"]["evidence"] == []
    assert "not yet" in spec["title"]["subtitle"]
    assert spec["title"]["text"] == "How far it is"


DIRECT = {
    "bets": (Bounded(0, 1), "bernoulli", "evidence (logarithm of a wealth)"),
    "clocks": (Gaussian(), "gaussian", "evidence (standard deviations)"),
}


@pytest.mark.parametrize("kind", DIRECT)
def test_bets_and_arms_on_their_own_clocks_are_held_against_one_level(kind):
    noise, family, title = DIRECT[kind]
    problem = RobustProblem.from_pairs(np.eye(8), np.repeat(np.arange(4), 2))
    means = [0.6, 0.7, 0.45, 0.8, 0.3, 0.6, 0.2, 0.9]
    simulator = LinearSimulator(problem, means, 0.5, seed=1, family=family)
    result = identify(problem, simulator, delta=0.05, noise=noise, misfit=math.inf)
    frame = evidence_frame(result)
    assert np.isfinite(frame["evidence"]).all()
    assert frame.groupby("pulls")["boundary"].nunique().eq(1).all()
    reached = frame["evidence"] >= frame["boundary"]
    assert reached.equals(frame["eliminated"])
    assert frame["eliminated"].sum() == 3
    drawn = json.dumps(evidence_chart(result).to_dict(), ensure_ascii=False)
    assert title in drawn


def test_the_boundary_is_named_beside_the_last_look_where_no_mark_stands():
    result = finished()
    (named,) = evidence_chart(result).to_dict()["datasets"]["end"]
    assert (named["pulls"], named["boundary"]) == (result.samples, result.history[-1].boundary)
