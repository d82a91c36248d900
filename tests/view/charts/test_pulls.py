"""Charts of pulls: where they went, how fast, and bounds of what is needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from surefoot.design.hardness import complexity
from surefoot.view.charts import (
    allocation_chart,
    allocation_frame,
    bounds_chart,
    bounds_frame,
    pace_chart,
)
from surefoot.view.charts.pulls import OTHERS
from tests.view.charts.results import finished, fresh, many, wings


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
    assert (
        bounds_chart(result, hardness).to_dict()["layer"][0]["encoding"]["x"]["scale"]["type"]
        == "log"
    )


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
