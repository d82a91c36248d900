"""Charts: their rows are the numbers of the result, and what is drawn says what they mean."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import vl_convert

from surefoot import (
    Bounded,
    Gaussian,
    InputError,
    LinearSimulator,
    Outcome,
    Result,
    RobustProblem,
    Settings,
    SeveralOutputs,
    SubGaussian,
    TableSimulator,
    identify,
)
from surefoot.algorithms import algorithm_from
from surefoot.design.hardness import complexity
from surefoot.view.charts import (
    allocation_chart,
    allocation_frame,
    arms_chart,
    arms_frame,
    bounds_chart,
    bounds_frame,
    evidence_chart,
    evidence_frame,
    growth_chart,
    limit_chart,
    limits_frame,
    pace_chart,
    residuals_chart,
    residuals_frame,
    samples_chart,
)
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.drawing import MOST_NAMED
from surefoot.view.charts.evidence import SHOWN, UNFIT, limit_drawings
from surefoot.view.charts.pulls import OTHERS
from surefoot.view.report.facts import certificate, settings_facts
from surefoot.view.report.page import drawings
from tests.view.charts.results import WEATHER, WINGS, finished, fresh, many, wings


def svg_of(chart):
    """Return a chart as SVG."""
    return vl_convert.vegalite_to_svg(chart.to_dict())


def shown_as(chart, channel):
    """Return what a channel shows each value as, wherever in the chart that is said."""
    parts = [chart.to_dict()]
    for part in parts:
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            own = part.get(channel)
            scale = own.get("scale", {}) if isinstance(own, dict) else {}
            if "range" in scale:
                return dict(zip(scale["domain"], map(str, scale["range"]), strict=True))
            parts += part.values()
    raise AssertionError(f"nothing is shown by {channel}")


def test_few_arms_have_a_name_each_and_many_stand_side_by_side():
    few, crowd = svg_of(arms_chart(finished())), svg_of(arms_chart(many()))
    assert all(f">{name}<" in few for name in WINGS[:-1])  # the last one is escaped
    assert many().problem.n_arms > MOST_NAMED
    assert sum(f">{name}<" in crowd for name in many().problem.arm_names) < MOST_NAMED
    assert len(arms_chart(many()).to_dict()["datasets"]["arms"]) == 300


def test_rows_hold_the_numbers_of_the_result():
    result = finished()
    frame = arms_frame(result).set_index("arm")
    for arm, name in enumerate(result.problem.arm_names):
        own = result.problem.pairs_of(arm)
        row = frame.loc[name]
        assert row["value"] == result.values[arm]
        assert (row["low"], row["high"]) == (result.lower[arm], result.upper[arm])
        assert row["worst"] == WEATHER[int(np.argmin(result.pair_means[own]))]
        assert row["pulls"] == result.counts[own].sum()


def test_the_leader_comes_first_and_survivors_are_told_from_the_eliminated():
    result = many()
    frame = arms_frame(result)
    assert frame["arm"].iloc[0] == result.arm_name
    assert frame["kind"].iloc[0] == "leader"
    alive = {result.problem.arm_names[arm] for arm in result.candidates} - {result.arm_name}
    assert set(frame.loc[frame["kind"] == "still possible", "arm"]) == alive
    assert frame["value"].iloc[1:].is_monotonic_decreasing


def test_a_study_that_minimises_shows_costs_with_their_worst_as_the_highest():
    result = finished()
    turned = result.turned(result.settings)
    gains, costs = arms_frame(result).set_index("arm"), arms_frame(turned).set_index("arm")
    assert (costs["value"] == -gains["value"]).all()
    assert (costs["low"] == -gains["high"]).all()
    assert (costs["low"] <= costs["high"]).all()
    assert arms_frame(turned)["arm"].tolist() == arms_frame(result)["arm"].tolist()


def test_the_worst_perturbation_is_no_tick_among_the_others():
    result = finished()
    ticks = arms_chart(result).to_dict()["datasets"]["pairs"]
    worst = {(row["arm"], row["worst"]) for row in arms_frame(result).to_dict("records")}
    assert len(ticks) == result.problem.n_pairs - result.problem.n_arms
    assert not worst & {(tick["arm"], tick["perturbation"]) for tick in ticks}


def test_without_data_nothing_is_chosen_and_nothing_is_drawn():
    frame = arms_frame(fresh())
    assert set(frame["kind"]) == {"still possible"}
    assert all(row["value"] is None for row in arms_chart(fresh()).to_dict()["datasets"]["arms"])


def test_costs_are_called_costs():
    result = finished()
    drawn = str(arms_chart(result.turned(result.settings)).to_dict())
    assert "cost under the arm's worst perturbation" in drawn
    assert "highest mean cost" in drawn
    assert "reward" not in drawn


def test_rows_stand_in_order_though_some_intervals_have_no_end():
    problem = RobustProblem.from_lists(
        [{"name": f"arm of {n}", "gain": float(n % 5), "delay": float(n % 2)} for n in range(8)],
        [{"name": "new"}, {"name": "worn", "gain": -1.0}, {"name": "slow", "delay": 1.0}],
    )
    simulator = LinearSimulator(problem, [0.0, 1.0, -0.4], 0.3, seed=1)
    result = identify(problem, simulator, delta=0.05, noise=Gaussian(), misfit=math.inf)
    frame = arms_frame(result)
    assert np.isinf(frame["low"]).any()
    svg = svg_of(arms_chart(result))
    assert re.findall(r">(arm of \d)<", svg) == frame["arm"].tolist()


def test_intervals_without_an_end_are_drawn_to_the_edge():
    result = finished()
    endless = np.full(result.problem.n_pairs, np.inf)
    open_ended = replace(result, pair_lower=-endless, pair_upper=endless)
    drawing = arms_drawing(open_ended)
    assert "has no end on that side" in drawing.subtitle
    ends = drawing.tables["arms"][["low", "high"]].to_numpy()
    assert np.isfinite(ends).all()


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


@cache
def limited() -> Result:
    """The second of four arms is best: the first costs too much."""
    problem = RobustProblem.from_lists(
        [{"size": k} for k in range(4)],
        {"as planned": {}, "flu": {"load": 1}},
        environment={"load": 0},
    )
    gain, cost = np.repeat([9.0, 3.0, 2.0, 1.0], 2), np.array([1.0, 4.2, *[1.0] * 6])
    one, two = np.random.SeedSequence(1).spawn(2)
    simulator = SeveralOutputs(
        TableSimulator(gain, 1.0, one), {"cost": TableSimulator(cost, 1.0, two)}
    )
    limits = {"cost": [{"at_most": 2.0}, {"at_most": 3.0, "measure": "mean"}]}
    asked = {"delta": 0.01, "noise": Gaussian(), "misfit": math.inf}
    return identify(problem, simulator, limits=limits, **asked)


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
    chart = limit_chart(limited(), which)
    assert chart.to_dict()["datasets"]["limit"][0]["limit"] == (2.0, 3.0)[which]
    assert "stroke-dasharray" in svg_of(chart)


def test_pages_have_a_chart_for_each_limit_and_say_what_is_assumed_of_it() -> None:
    result = limited()
    assert len(limit_drawings(result)) == 2
    assert {"limit1", "limit2"} <= set(drawings(result))
    facts = {fact.name: fact for fact in certificate(result)}
    assert facts["shown not to qualify"].note == "size=0"
    assert facts["assumed of the noise of cost"].value == Gaussian().assumption
    asked = [fact.value for fact in settings_facts(result) if fact.name == "limit"]
    assert asked[0] == "cost at most 2"
    assert "1 is shown to qualify, and 1 not to" in " ".join(result.beside)


def test_every_pull_is_counted_once():
    for result in (finished(), many()):
        frame = allocation_frame(result, pairs=5)
        pulls = frame.groupby("phase")["pulls"].sum()
        assert pulls.to_dict() == {
            record.phase: int(record.counts.sum()) for record in result.history
        }
        assert frame.groupby("phase")["share"].sum().round(12).eq(1).all()


def test_the_pairs_pulled_most_come_first_and_the_rest_last():
    frame = allocation_frame(many(), pairs=5)
    names = list(dict.fromkeys(frame["pair"]))
    assert len(names) == 6
    assert names[-1] == OTHERS
    totals = frame.groupby("pair")["pulls"].sum()[names[:-1]]
    assert totals.is_monotonic_decreasing
    assert totals.iloc[0] == many().counts.max()


def test_the_chart_says_how_many_pairs_it_shows():
    pairs, pulled = many().problem.n_pairs, np.count_nonzero(many().counts)
    some, every = (allocation_chart(many(), shown).to_dict()["title"] for shown in (5, pairs))
    assert some["subtitle"] == f"the 5 pairs pulled most, of {pairs}"
    assert every["subtitle"] == f"the {pulled} pairs that were pulled, of {pairs}"
    few = finished("uniform")
    shown = allocation_chart(few, few.problem.n_pairs).to_dict()["title"]["subtitle"]
    assert shown == f"all {few.problem.n_pairs} pairs"


def test_without_a_phase_the_chart_says_so():
    assert "no phase" in allocation_chart(fresh()).to_dict()["title"]["subtitle"]


def test_the_run_stands_beside_the_bounds_at_its_confidence():
    problem, theta = wings()
    hardness, result = complexity(problem, theta), finished()
    pulls = bounds_frame(result, hardness).set_index("what")["pulls"]
    assert pulls["this run (prime)"] == result.samples
    assert pulls["lower bound"] == hardness.lower_bound(0.05)
    assert pulls["oracle that knows θ"] == hardness.oracle_samples(0.05)
    assert pulls["Robust RAGE, at most"] == pytest.approx(hardness.rage_bound(0.05))
    svg = svg_of(bounds_chart(result, hardness))
    assert all(f">{name}<" in svg for name in pulls.index)


def test_each_minute_is_a_bar_of_a_minute():
    rows = pace_chart(
        pd.DataFrame({"minute": [1_700_000_040, 1_700_000_160], "pulls": [5, 7]})
    ).to_dict()
    assert rows["datasets"]["pace"] == [
        {"minute": 1_700_000_040_000, "pulls": 5, "end": 1_700_000_100_000, "none": 0},
        {"minute": 1_700_000_160_000, "pulls": 7, "end": 1_700_000_220_000, "none": 0},
    ]


def test_a_study_without_rewards_has_an_empty_chart():
    assert pace_chart(pd.DataFrame(columns=["minute", "pulls"])).to_dict()["datasets"]["pace"] == []


def test_residuals_are_in_standard_errors_of_the_averages():
    result = finished()
    frame = residuals_frame(result)
    pulled = np.flatnonzero(result.counts)
    expected = (result.pair_averages - result.pair_means)[pulled] * np.sqrt(result.counts[pulled])
    np.testing.assert_allclose(frame["residual"], expected, atol=1e-9)
    assert len(frame) == len(pulled)


def test_an_unknown_scale_is_taken_from_replicates():
    problem, _ = wings()
    run = algorithm_from("prime").start(
        problem, Settings(delta=0.05, noise=Gaussian(equal=True), misfit=0)
    )
    phase = run.next_phase()
    rewards = np.random.default_rng(0).normal(scale=7.0, size=phase.samples)
    run.update(
        Outcome.from_rewards(
            0, problem.n_pairs, np.repeat(np.arange(problem.n_pairs), phase.counts), rewards
        )
    )
    pulled = phase.counts > 0
    scale = np.sqrt(run.tally.scatter.sum() / run.tally.freedom.sum())
    np.testing.assert_allclose(
        run.result.pair_errors[pulled], scale / np.sqrt(phase.counts[pulled])
    )
    assert np.isnan(run.result.pair_errors[~pulled]).all()


def test_the_chart_states_the_test_and_bears_no_data():
    assert residuals_chart(finished()).to_dict()["title"]["subtitle"] == finished().checks
    assert residuals_chart(fresh()).to_dict()["datasets"]["residuals"] == []


GROWTH = pd.DataFrame(
    [
        (kind, size, label, mean * size, 0.9 * mean * size, 1.1 * mean * size, label == "limit")
        for kind in ("SC", "MM")
        for size in (3, 10)
        for label, mean in (("KN-RSB", 100), ("PRIME", 50), ("limit", 5))
    ],
    columns=["kind", "arms", "label", "mean", "low", "high", "bound"],
)
SAMPLES = pd.DataFrame(
    [
        ("prime", "valid", 100, 90, 110, 5),
        ("robust-rage", "valid", 1000, 900, 1100, 5),
        ("robust-rage", "paper", 800, 700, 900, 5),
        ("lower bound", "bound", 20, 20, 20, 5),
    ],
    columns=["algorithm", "policy", "mean", "low", "high", "d"],
)


def test_growth_has_a_panel_for_each_group_and_bounds_are_dashed():
    chart = growth_chart(GROWTH, "arms", "kind")
    assert {"SC", "MM", "KN-RSB", "PRIME", "limit"} <= set(re.findall(">([^<>]+)<", svg_of(chart)))
    dashes = shown_as(chart, "strokeDash")
    assert dashes["KN-RSB"] == dashes["PRIME"] != dashes["limit"]
    assert len(set(shown_as(chart, "color").values())) == 3


def test_policies_have_their_own_colours_and_an_algorithm_keeps_its_shape():
    chart = samples_chart(SAMPLES, "d", "dimension")
    colours, shapes = shown_as(chart, "color"), shown_as(chart, "shape")
    names = ["prime · valid", "robust-rage · valid", "robust-rage · paper", "lower bound"]
    assert list(colours) == list(shapes) == names
    assert len(set(colours.values())) == 4
    assert shapes[names[1]] == shapes[names[2]] != shapes[names[0]]
    assert {"dimension", *names} <= set(re.findall(">([^<>]+)<", svg_of(chart)))


def test_what_is_missing_or_unknown_in_a_table_is_named():
    with pytest.raises(InputError, match="bound"):
        growth_chart(GROWTH.drop(columns="bound"), "arms", "kind")
    with pytest.raises(InputError, match="needs high"):
        samples_chart(SAMPLES.drop(columns="high"), "d")
    with pytest.raises(InputError, match="'guess'"):
        samples_chart(SAMPLES.assign(policy="guess"), "d")
