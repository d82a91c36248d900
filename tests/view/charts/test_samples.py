import pandas as pd
import pytest

from surefoot import InputError
from surefoot.view.charts import samples_chart

ROWS = [
    ("prime", "valid", 100, 90, 110, 5),
    ("robust-rage", "valid", 1000, 900, 1100, 5),
    ("robust-rage", "paper", 800, 700, 900, 5),
    ("lower bound", "bound", 20, 20, 20, 5),
]
FRAME = pd.DataFrame(ROWS, columns=["algorithm", "policy", "mean", "low", "high", "d"])


def scales(spec):
    encoding = spec["layer"][1]["encoding"]
    colours, shapes = encoding["color"]["scale"], encoding["shape"]["scale"]
    return dict(
        zip(colours["domain"], zip(colours["range"], shapes["range"], strict=True), strict=True)
    )


def test_policies_have_their_own_colours_and_an_algorithm_keeps_its_shape():
    found = scales(samples_chart(FRAME, "d", "dimension").to_dict())
    assert list(found) == [
        "prime · valid",
        "robust-rage · valid",
        "robust-rage · paper",
        "lower bound",
    ]
    assert len({colour for colour, _ in found.values()}) == 4
    assert (
        found["robust-rage · valid"][1]
        == found["robust-rage · paper"][1]
        != found["prime · valid"][1]
    )


def test_samples_are_on_a_logarithmic_axis_with_their_errors():
    spec = samples_chart(FRAME, "d", "dimension").to_dict()
    bars, points, lines = (layer["encoding"] for layer in spec["layer"])
    assert bars["y"]["scale"]["type"] == points["y"]["scale"]["type"] == "log"
    assert lines["y"]["field"] == "mean"
    assert points["x"]["axis"]["grid"] is True
    assert (bars["y"]["field"], bars["y2"]["field"], points["y"]["field"]) == (
        "low",
        "high",
        "mean",
    )
    assert points["x"]["title"] == "dimension"


def test_what_is_missing_or_unknown_is_named():
    with pytest.raises(InputError, match="needs high"):
        samples_chart(FRAME.drop(columns="high"), "d")
    with pytest.raises(InputError, match="'guess'"):
        samples_chart(FRAME.assign(policy="guess"), "d")
