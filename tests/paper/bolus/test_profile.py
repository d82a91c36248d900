"""The ambulatory glucose profile."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import pytest

from surefoot import InputError
from surefoot.paper.bolus.charts import (
    QUANTILES,
    axis_top,
    profile_drawing,
    side_by_side,
)
from surefoot.view.charts import save


def profile(level: float = 120.0) -> pd.DataFrame:
    hours = np.arange(0.125, 24, 0.25)
    bands = {name: np.full(96, level + 20 * (k - 2)) for k, name in enumerate(QUANTILES)}
    return pd.DataFrame({"hour": hours, **bands})


def test_two_bands_a_median_and_the_target_over_a_day():
    spec = profile_drawing(profile(), "somebody").chart().to_dict()
    target, wide, narrow, median = spec["layer"]
    assert spec["datasets"]["target"][0]["low"] == 70
    assert spec["datasets"]["target"][0]["high"] == 180
    assert (wide["encoding"]["y"]["field"], wide["encoding"]["y2"]["field"]) == ("p5", "p95")
    assert (narrow["encoding"]["y"]["field"], narrow["encoding"]["y2"]["field"]) == ("p25", "p75")
    assert median["encoding"]["y"]["field"] == "p50"
    assert median["encoding"]["x"]["scale"]["domain"] == [0, 24]
    assert target["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 250]


def test_compared_profiles_share_an_axis():
    assert axis_top([profile(), profile(290.0)]) == 350
    assert axis_top([profile()]) == 250


def test_profiles_side_by_side_keep_their_own_rows(tmp_path):
    drawn = [profile_drawing(profile(level), str(level)) for level in (100.0, 200.0)]
    chart = side_by_side(drawn, "two")
    assert alt.ConcatChart.from_dict(chart).to_dict()["concat"] == chart["concat"]  # it is valid
    datasets = chart["datasets"]
    assert [datasets[f"profile-{k}"][0]["p50"] for k in (0, 1)] == [100.0, 200.0]
    written = save(chart, tmp_path / "two")
    assert all(path.stat().st_size > 1000 for path in written)


def test_what_is_no_profile_is_refused():
    with pytest.raises(InputError, match="needs p95"):
        profile_drawing(profile().drop(columns="p95"), "")
    with pytest.raises(InputError, match="no rows"):
        profile_drawing(profile().head(0), "")
