import numpy as np
import pandas as pd
import pytest

from surefoot import InputError
from surefoot.paper.bolus.charts import glucose_curves


def curves(count):
    minutes = np.arange(0, 300, 5)
    return pd.concat(
        pd.DataFrame(
            {"minute": minutes, "bg": 100.0 + 10 * k + minutes / 10, "curve": f"curve {k}"}
        )
        for k in range(count)
    )


def rows(spec, layer):
    return spec["datasets"][spec["layer"][layer]["data"]["name"]]


def test_the_band_is_the_target_range_and_a_few_curves_have_names():
    spec = glucose_curves(curves(3)).to_dict()
    band, lines = spec["layer"][0]["layer"][0], spec["layer"][1]
    assert {"low": 70, "high": 180}.items() <= rows(spec, 0)[0].items()
    assert band["encoding"]["y"]["title"] == "blood glucose (mg/dL)"
    assert lines["encoding"]["color"]["scale"]["domain"] == ["curve 0", "curve 1", "curve 2"]
    assert lines["encoding"]["strokeDash"]["scale"]["domain"] == ["curve 0", "curve 1", "curve 2"]


def test_many_curves_become_a_bundle_with_its_median():
    spec = glucose_curves(curves(101)).to_dict()
    middle = {row["minute"]: row["bg"] for row in rows(spec, 2)}
    assert len(rows(spec, 1)) == 101 * 60
    assert middle[0] == 100.0 + 10 * 50


def test_a_table_without_the_columns_is_refused():
    with pytest.raises(InputError, match="needs bg, curve"):
        glucose_curves(pd.DataFrame({"minute": [0]}))
