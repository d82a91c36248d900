"""How charts look: colours that differ in lightness too, marks told apart by shape, text in the
reader's own font.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from surefoot.view.charts.offline import OfflineFacets, OfflineLayers

OFFLINE = {alt.FacetChart: OfflineFacets}

# Each has a contrast of 3 or more against both backgrounds below, so a chart needs no second set of
# colours.
BLUE, ORANGE, GREY, GREEN, PURPLE, RED = (
    "#3b82c4",
    "#d9730d",
    "#7d8590",
    "#2a9d6f",
    "#9b6bd3",
    "#d1495b",
)
SERIES = [BLUE, ORANGE, GREEN, PURPLE, RED, "#a07a1a", "#2b93a3", GREY]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [10, 4], [1, 3], [6, 2, 1, 2]]
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
]

WIDTH = 560
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
# Viridis at equal steps: even in lightness, so it reads in grey and by the colour-blind. The
# background is its low end.
RAMP = [
    "#fde725",
    "#b5de2b",
    "#6ece58",
    "#35b779",
    "#1f9e89",
    "#26828e",
    "#31688e",
    "#3e4989",
    "#482878",
    "#440154",
]
LIGHT = {"background": "#ffffff", "ink": "#1f2328", "quiet": "#59636e", "grid": "#e3e6ea"}
DARK = {"background": "#16191d", "ink": "#e6e9ec", "quiet": "#a3acb6", "grid": "#343a41"}


def config(palette: dict[str, str] = LIGHT) -> dict[str, Any]:
    """The Vega-Lite configuration of every chart: `LIGHT` for print and pages, `DARK` for dark
    pages.
    """
    ink, quiet, grid = palette["ink"], palette["quiet"], palette["grid"]
    return {
        "background": palette["background"],
        "font": FONT,
        "range": {"heatmap": RAMP[::-1] if palette is DARK else RAMP},
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": 280},
        "title": {
            "anchor": "start",
            "color": ink,
            "fontSize": 14,
            "subtitleColor": quiet,
            "subtitleFontSize": 12,
        },
        "axis": {
            "labelColor": quiet,
            "titleColor": ink,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": grid,
            "domainColor": quiet,
            "tickColor": quiet,
        },
        "axisY": {"labelLimit": 210},
        "legend": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 11,
            "titleFontWeight": "normal",
        },
        "header": {"labelColor": ink, "titleColor": ink},
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": ink},
        "tick": {"color": ink},
        "point": {"size": 60, "filled": True},
        "line": {"strokeWidth": 2},
    }


def styled(chart: Any) -> alt.LayerChart:
    """The chart with the house's configuration, which notebooks show without a network."""
    return from_spec(chart.to_dict(), OFFLINE.get(type(chart), OfflineLayers))


def from_spec(spec: dict[str, Any], kind: Any = OfflineLayers) -> alt.LayerChart:
    """A specification as such a chart."""
    finished: alt.LayerChart = kind.from_dict(spec | {"config": config()})
    return finished
