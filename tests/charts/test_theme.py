import pytest

from surefoot.view.charts.samples import FAMILIES
from surefoot.view.charts.theme import DARK, DASHES, LIGHT, SERIES, SHAPES, config


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


def test_every_colour_has_a_shape_and_dashes_of_its_own():
    assert (
        len(set(SERIES)) == len(set(SHAPES)) == len({tuple(dash) for dash in DASHES}) == len(SERIES)
    )
