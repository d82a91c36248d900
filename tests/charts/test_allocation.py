import numpy as np

from surefoot.view.charts import allocation_chart, allocation_frame
from surefoot.view.charts.allocation import OTHERS
from tests.charts.results import finished, fresh, many


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
    few = finished()
    shown = allocation_chart(few, few.problem.n_pairs).to_dict()["title"]["subtitle"]
    assert shown == f"all {few.problem.n_pairs} pairs"


def test_without_a_phase_the_chart_says_so():
    assert "no phase" in allocation_chart(fresh()).to_dict()["title"]["subtitle"]
