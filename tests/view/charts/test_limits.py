"""Charts of limits: each limit is a line, and arms show whether they qualify."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import vl_convert

import surefoot as sf
from surefoot.view.charts import arms_frame, evidence_frame, limit_chart, limits_frame
from surefoot.view.charts.evidence import SHOWN, UNFIT, limit_drawings
from surefoot.view.report.facts import certificate, settings_facts
from surefoot.view.report.page import drawings


@cache
def limited() -> sf.Result:
    """The second of four arms is best: the first costs too much."""
    problem = sf.RobustProblem.from_lists(
        [{"size": k} for k in range(4)],
        {"as planned": {}, "flu": {"load": 1}},
        environment={"load": 0},
    )
    gain, cost = np.repeat([9.0, 3.0, 2.0, 1.0], 2), np.array([1.0, 4.2, *[1.0] * 6])
    one, two = np.random.SeedSequence(1).spawn(2)
    simulator = sf.SeveralOutputs(
        sf.TableSimulator(gain, 1.0, one), {"cost": sf.TableSimulator(cost, 1.0, two)}
    )
    limits = {"cost": [{"at_most": 2.0}, {"at_most": 3.0, "measure": "mean"}]}
    asked = {"delta": 0.01, "noise": sf.Gaussian(), "misfit": np.inf}
    return sf.identify(problem, simulator, limits=limits, **asked)


def test_rows_hold_what_limits_are_held_against_and_who_qualifies() -> None:
    result = limited()
    frame = limits_frame(result)
    assert frame["limit"].tolist() == [2.0] * 4 + [3.0] * 4
    assert frame["state"].tolist()[:2] == [UNFIT, SHOWN]
    held = result.against_limits
    assert frame["value"].tolist() == [*held[0].values, *held[1].values]
    kinds = arms_frame(result).set_index("arm")["kind"]
    assert kinds["size=0"] == "does not qualify"
    assert kinds[result.arm_name] == "leader"


def test_an_arm_that_does_not_qualify_is_no_runner_up() -> None:
    """Limits decide about it, so no evidence has to reach the boundary."""
    result = limited()
    frame = evidence_frame(result)
    assert set(frame["arm"]) == {"size=2", "size=3"}
    facts = {fact.name: fact for fact in certificate(result)}
    assert facts["evidence"].note.startswith("against size=2, the runner-up")
    assert facts["evidence"].note.endswith("the boundary is reached")


@pytest.mark.parametrize("which", [0, 1])
def test_each_limit_is_a_line(which: int) -> None:
    spec = limit_chart(limited(), which).to_dict()
    assert "strokeDash" in str(spec["layer"][0]["mark"])
    assert spec["datasets"]["limit"][0]["limit"] == (2.0, 3.0)[which]
    low, high = spec["layer"][1]["encoding"]["x"]["scale"]["domain"]
    assert low < (2.0, 3.0)[which] < high
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")


def test_pages_have_a_chart_for_each_limit_and_say_what_is_assumed_of_it() -> None:
    result = limited()
    assert len(limit_drawings(result)) == 2
    assert {"limit1", "limit2"} <= set(drawings(result))
    facts = {fact.name: fact for fact in certificate(result)}
    assert facts["shown not to qualify"].note == "size=0"
    assert facts["assumed of the noise of cost"].value == sf.Gaussian().assumption
    asked = [fact.value for fact in settings_facts(result) if fact.name == "limit"]
    assert asked[0] == "cost at most 2"
    assert "1 is shown to qualify, and 1 not to" in " ".join(result.beside)
