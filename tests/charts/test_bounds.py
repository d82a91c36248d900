import pytest

from surefoot.design.hardness import complexity
from surefoot.view.charts import bounds_chart, bounds_frame
from tests.charts.results import finished, wings


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
