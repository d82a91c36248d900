"""What charts share, and whether each can be drawn."""

from __future__ import annotations

import json

import altair as alt
import pandas as pd
import pytest
import vl_convert

from surefoot import InputError
from surefoot.system.drafts import write_whole
from surefoot.view.charts import arms_chart, evidence_chart, pace_chart, samples_chart, save
from surefoot.view.charts.arms import arms_drawing
from surefoot.view.charts.drawing import (
    DARK,
    LIGHT,
    SERIES,
    SHAPES,
    _page,
    config,
    short,
    telling,
    thinned,
    vega_script,
)
from surefoot.view.charts.evidence import evidence_drawing
from surefoot.view.charts.pulls import allocation_drawing, residuals_drawing
from surefoot.view.charts.samples import FAMILIES
from tests.browser import Watched, launched
from tests.view.charts.results import finished, fresh, many
from tests.view.charts.test_charts import SAMPLES

ALL = [arms_drawing, evidence_drawing, allocation_drawing, residuals_drawing]


@pytest.mark.parametrize("draw", ALL)
def test_the_quick_specification_is_that_of_the_chart(draw):
    drawing = draw(finished())
    assert drawing.chart().to_dict() == drawing.spec() | {
        "config": config(),
        "$schema": drawing.spec()["$schema"],
    }


def test_filling_in_rows_and_categories_leaves_the_template_alone():
    one, other = evidence_drawing(finished()).spec(), evidence_drawing(many()).spec()
    assert "$arms" not in json.dumps(one) + json.dumps(other)
    assert one != other
    assert evidence_drawing(finished()).spec() == one


@pytest.mark.parametrize("result", [finished, many])
def test_vega_draws_every_chart(result):
    for draw in ALL:
        svg = vl_convert.vegalite_to_svg(draw(result()).chart().to_dict())
        assert "NaN" not in svg
        assert svg.count("<path") > 2


def test_charts_without_data_are_drawn_empty():
    for draw in ALL:
        assert vl_convert.vegalite_to_svg(draw(fresh()).chart().to_dict()).startswith("<svg")


def test_what_tells_names_apart_comes_first():
    names = [
        ("nurses=4, doctors=6, rooms=5", "flu"),
        ("nurses=4, doctors=7, rooms=5", "flu"),
        ("nurses=4, doctors=7, rooms=5", "holiday"),
    ]
    assert telling(names) == [
        "doctors=6 · flu · nurses=4 · rooms=5",
        "doctors=7 · flu · nurses=4 · rooms=5",
        "doctors=7 · holiday · nurses=4 · rooms=5",
    ]


def test_names_of_other_kinds_stay_whole_and_different():
    assert telling([("fast", "worn"), ("steady", "worn")]) == ["fast · worn", "steady · worn"]
    assert telling([("a, b", "c"), ("a", "c")]) == ["a, b · c", "a · c"]
    assert telling([("only one, long", "as designed")]) == ["only one, long · as designed"]
    assert telling([]) == []
    for names in ([("a, b", "c"), ("a", "b, c")], [("x", "x"), ("y", "x"), ("x", "y")]):
        assert len(set(telling(names))) == len(names)


def test_long_names_are_cut_where_they_do_not_differ():
    winter = "a cold winter that lasts until the end of"
    names = [
        (f"gain={gain}, mode=careful {mood}", f"{winter} {month}")
        for gain in (1, 1.5)
        for mood in ("and slow", "and slow, as before")
        for month in ("April", "May")
    ]
    labels = short(names)
    assert len(set(labels)) == len(names)
    assert all(label.endswith(("April", "May")) for label in labels)
    assert max(map(len, labels)) < 60
    wings = [f"sweep={sweep}, span={span}" for sweep in (15, 20) for span in (7, 9, 11)]
    storms = ("icing", "icing and a storm", "a storm from the north-west")
    cut = short([(wing, storm) for wing in wings for storm in storms])
    assert "sweep=20, span=11 · icing and a s…" in cut
    assert {label.split(" · ")[0][-2:] for label in cut} == {"=7", "=9", "11"}
    shared = [(f"{winter} April, with {n} nurses, day and night",) for n in range(3)]
    assert short(shared) == ["with 0 nurses", "with 1 nurses", "with 2 nurses"]
    assert short([("brief", "calm"), ("brief", "flu")]) == telling(
        [("brief", "calm"), ("brief", "flu")]
    )


def test_a_cell_of_a_notebook_holds_all_that_its_chart_needs():
    (html,) = evidence_chart(finished())._repr_mimebundle_().values()
    assert vega_script() in html
    assert "<script src" not in html
    assert "<script>alert" not in html  # an arm of that name is in the chart


def test_a_chart_that_was_changed_is_still_shown_without_a_network():
    chart = samples_chart(SAMPLES, "d").properties(width=200)
    assert set(chart._repr_mimebundle_()) == {"text/html"}


def test_a_renderer_that_the_user_chose_stays_in_charge():
    with alt.renderers.enable("mimetype"):
        assert "text/html" not in arms_chart(finished())._repr_mimebundle_()


@pytest.mark.browser
def test_a_browser_without_a_network_draws_it(tmp_path):
    (html,) = arms_chart(finished())._repr_mimebundle_().values()
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{html}")
    (tmp_path / "page.html").write_text(_page(arms_chart(finished()).to_dict()))
    with launched() as browser, Watched(browser, f"file://{tmp_path}") as watched:
        for name in ("cell", "page"):
            watched.page.goto(f"file://{tmp_path}/{name}.html")
            watched.page.wait_for_selector(".vega-embed canvas, .vega-embed svg", timeout=120_000)
        assert not watched.trouble


def test_a_page_is_the_same_whenever_it_is_written():
    spec = arms_chart(finished()).to_dict()
    assert _page(spec) == _page(spec)


CHART = pace_chart(pd.DataFrame({"minute": [0, 60], "pulls": [3, 4]}))


def test_three_files_are_written_and_nothing_else(tmp_path):
    written = save(CHART, tmp_path / "figures" / "pace")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "pace.html",
        "pace.png",
        "pace.svg",
    ]
    png, svg, html = (path.read_bytes() for path in written)
    assert png.startswith(b"\x89PNG")
    assert b"pulls per minute" in svg
    assert b'src="http' not in html
    assert b"vegaEmbed" in html


def test_an_ending_is_not_taken_for_a_stem(tmp_path):
    with pytest.raises(InputError, match="has an ending already"):
        save(CHART, tmp_path / "pace.png")


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path):
    target = tmp_path / "page.html"
    target.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(target, b"new")
    assert list(tmp_path.iterdir()) == [target]


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """The ratio of WCAG 2: graphics need 3, text needs 4.5."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_marks_and_text_stand_out_from_the_background(palette):
    for colour in SERIES:
        assert contrast(colour, palette["background"]) >= 3
    for text in ("ink", "quiet"):
        assert contrast(palette[text], palette["background"]) >= 4.5
    assert config(palette)["background"] == palette["background"]


def test_printed_families_stand_out_on_paper():
    for colours in FAMILIES.values():
        assert all(contrast(colour, "#ffffff") >= 2.8 for colour in colours)


def test_every_colour_has_a_shape_of_its_own():
    assert len(set(SERIES)) == len(set(SHAPES)) == len(SERIES)


def test_a_crowd_is_thinned_to_the_first_ones_and_some_of_the_others() -> None:
    few, crowd = pd.DataFrame({"x": range(1000)}), pd.DataFrame({"x": range(20_000)})
    assert len(thinned(few)) == 1000
    shown = thinned(crowd)["x"].tolist()
    assert len(shown) == 1000
    assert shown[:501] == list(range(501))
    assert shown[-1] == 19_999
    assert shown == sorted(set(shown))
