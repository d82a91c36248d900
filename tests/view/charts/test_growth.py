import pandas as pd
import pytest

from surefoot import InputError
from surefoot.view.charts import growth_chart

ROWS = [
    (kind, size, label, mean * size, 0.9 * mean * size, 1.1 * mean * size, label == "limit")
    for kind in ("SC", "MM")
    for size in (3, 10)
    for label, mean in (("KN-RSB", 100), ("PRIME", 50), ("limit", 5))
]
FRAME = pd.DataFrame(ROWS, columns=["kind", "arms", "label", "mean", "low", "high", "bound"])


def test_one_panel_per_group_and_one_joined_line_per_label() -> None:
    spec = growth_chart(FRAME, "arms", "kind").to_dict()
    assert spec["facet"]["column"]["sort"] == ["SC", "MM"]
    lines, bars, points = spec["spec"]["layer"]
    assert (lines["mark"]["type"], bars["mark"]["type"], points["mark"]["type"]) == (
        "line",
        "rule",
        "point",
    )
    assert lines["encoding"]["color"]["scale"]["domain"] == ["KN-RSB", "PRIME", "limit"]
    assert {layer["encoding"]["y"]["scale"]["type"] for layer in (lines, bars, points)} == {"log"}
    assert lines["encoding"]["x"]["axis"]["values"] == [3, 10]


def test_bounds_are_grey_and_dashed() -> None:
    encoding = growth_chart(FRAME, "arms", "kind").to_dict()["spec"]["layer"][0]["encoding"]
    *procedures, limit = encoding["strokeDash"]["scale"]["range"]
    assert procedures == [[1, 0], [1, 0]]
    assert limit == [5, 4]
    assert len(set(encoding["color"]["scale"]["range"])) == 3


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="bound"):
        growth_chart(FRAME.drop(columns="bound"), "arms", "kind")
