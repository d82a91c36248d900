import math
import re
from dataclasses import replace

import numpy as np
import vl_convert

from surefoot import Gaussian, LinearSimulator, RobustProblem, identify
from surefoot.view.charts import arms_chart, arms_frame
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.drawing import MOST_NAMED
from tests.view.charts.results import WEATHER, finished, fresh, many


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


def test_few_arms_have_a_row_each_and_many_stand_side_by_side():
    few, crowd = arms_chart(finished()).to_dict(), arms_chart(many()).to_dict()
    assert few["layer"][0]["encoding"]["y"]["field"] == "label"
    assert crowd["layer"][0]["encoding"]["x"]["field"] == "rank"
    assert many().problem.n_arms > MOST_NAMED
    assert len(crowd["datasets"]["arms"]) == 300


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
    drawn = vl_convert.vegalite_to_svg(arms_chart(result).to_dict())
    assert re.findall(r">(arm of \d)<", drawn) == frame["arm"].tolist()


def test_intervals_without_an_end_are_drawn_to_the_edge():
    result = finished()
    endless = np.full(result.problem.n_pairs, np.inf)
    open_ended = replace(result, pair_lower=-endless, pair_upper=endless)
    drawing = arms_drawing(open_ended)
    assert "has no end on that side" in drawing.subtitle
    ends = drawing.tables["arms"][["low", "high"]].to_numpy()
    assert np.isfinite(ends).all()
