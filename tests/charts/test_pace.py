import pandas as pd

from surefoot.view.charts import pace_chart


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
