"""How a chart is made: a template and its rows, one look, no network, and files of every kind.

The template is made once, so that a page can redraw with new rows.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import altair as alt
import numpy as np
import pandas as pd
from altair.utils.schemapi import debug_mode

from surefoot.errors import InputError
from surefoot.system.drafts import write_whole

if TYPE_CHECKING:
    from surefoot.algorithms import Result

P = ParamSpec("P")


def require_columns(frame: pd.DataFrame, *names: str) -> None:
    """Refuse a table that lacks a column, naming it."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"the table has columns {list(map(str, frame.columns))}, but the chart needs "
            f"{', '.join(missing)} too: add or rename them"
        )


def _plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain values; None where a number is not finite, so that its mark is left
    out.
    """
    columns = {str(name): _plain(frame[name].to_numpy()) for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def inline(frame: pd.DataFrame) -> alt.InlineData:
    """Return the rows within the chart, however many."""
    return alt.InlineData(values=_plain_rows(frame))


def _plain(values: np.ndarray[Any, Any]) -> list[Any]:
    if np.issubdtype(values.dtype, np.floating):
        return [
            value if finite else None
            for value, finite in zip(values.tolist(), np.isfinite(values), strict=True)
        ]
    return values.tolist()  # type: ignore[no-any-return]


MOST_MARKS = 1_000  # of a kind in a chart: more are a cloud, and slow to draw


def thinned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return at most `MOST_MARKS` rows: half of them the first ones, half spread evenly over the
    others, the last included.
    """
    if len(frame) <= MOST_MARKS:
        return frame
    first = MOST_MARKS // 2
    others = np.linspace(first, len(frame) - 1, MOST_MARKS - first).astype(np.int64)
    return frame.iloc[np.append(np.arange(first), others)]


def measured(result: Result) -> str:
    """Return the word for a study's outcomes: "cost" where it minimises, else "reward"."""
    return "cost" if result.minimize else "reward"


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script; it takes a second or two to put together."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("Object.assign(window, { vegaEmbed, vegaLite, vega });")
    return bundle.replace("</script", "<\\/script")


class _Offline:
    """A chart that notebooks show with the installed Vega; Altair's own way fetches it from the
    internet. A renderer that was chosen with `altair.renderers.enable` is left in charge.
    """

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        return {"text/html": _cell(self.to_dict())}  # type: ignore[attr-defined]


class _OfflineLayers(_Offline, alt.LayerChart):
    """Marks upon each other, shown without a network."""


class _OfflineFacets(_Offline, alt.FacetChart):
    """One chart per group, shown without a network."""


def _cell(spec: dict[str, Any]) -> str:
    """Return a chart as the output of a notebook's cell: all that it needs is in it."""
    return _drawn(spec, f"surefoot-{uuid.uuid4().hex}")


def _page(spec: dict[str, Any]) -> str:
    """Return a chart as a page of its own, reproducible to the bit."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    body = _drawn(spec, "chart")
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _drawn(spec: dict[str, Any], place: str) -> str:
    text = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
    draw = f'vegaEmbed("#{place}", {text}, {{ actions: false }});'
    return f'<div id="{place}"></div><script>{vega_script()}</script><script>{draw}</script>'


BETWEEN = " · "
PART = ", "
PARAMETER = r", (?=[^,=]+=)"
LONGEST_LABEL = 34  # characters beside an axis
SHORTEST = 8  # characters of a part of a label
WHOLE_PIECE = 17  # characters of a part that is not cut


def telling(names: Sequence[Sequence[str]]) -> list[str]:
    """Return one label for each name, of its parts in another order: those that differ most
    often first, those that all names share last.

    Args:
        names: each as its parts: an arm alone, or an arm and a perturbation. A part such as
            "gain=1.5, delay=0" is taken apart further if all names have as many of them.
    """
    return [BETWEEN.join(pieces) for pieces in _ordered(names)]


def short(names: Sequence[Sequence[str]], longest: int = LONGEST_LABEL) -> list[str]:
    """Return labels as `telling` gives them, where they are too long for an axis without the parts
    that all names share, and cut so that the places in which they differ stay: "a cold winter…May"
    beside "a cold winter…June".
    """
    rows = _ordered(names)
    whole = [BETWEEN.join(pieces) for pieces in rows]
    if max(map(len, whole), default=0) <= longest:
        return whole
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns = [column for column in columns if len(set(column)) > 1] or columns
    caps = [_enough(column) for column in columns]
    room = longest - len(BETWEEN) * (len(columns) - 1)
    for cap in range(SHORTEST, longest):
        raised = [max(cap, least) for least in caps]
        if sum(map(min, raised, (max(map(len, column)) for column in columns))) > room:
            break
        caps = raised
    labels = [BETWEEN.join(pieces) for pieces in zip(*map(_cut, columns, caps), strict=True)]
    return labels if len(set(labels)) == len(set(whole)) else whole


def _enough(column: list[str]) -> int:
    """Return the fewest characters in which the pieces can be told apart; short ones stay whole."""
    apart, longest = len(set(column)), max(map(len, column))
    if longest <= WHOLE_PIECE:
        return longest
    caps = range(SHORTEST, longest)
    return next((cap for cap in caps if len(set(_cut(column, cap))) == apart), longest)


def _ordered(names: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the parts of each name in the order in which a label shows them."""
    unchanged = [list(name) for name in names]
    for parts in (PART, PARAMETER):
        split = [[piece for part in name for piece in re.split(parts, part)] for name in names]
        if len({len(pieces) for pieces in split}) == 1:
            break
    else:
        return unchanged
    different = [len(set(column)) for column in zip(*split, strict=True)]
    order = sorted(range(len(different)), key=lambda i: different[i] == 1)
    if order == sorted(order):
        return unchanged
    rows = [[pieces[i] for i in order] for pieces in split]
    apart = len({BETWEEN.join(row) for row in rows})
    return rows if apart == len({BETWEEN.join(name) for name in unchanged}) else unchanged


def _cut(column: list[str], cap: int) -> list[str]:
    """Return pieces of at most so many characters, each with the places where it differs from
    others.
    """
    distinct = set(column)
    shown = {
        piece: _cut_at(piece, {_alike(piece, other) for other in distinct - {piece}}, cap)
        for piece in distinct
    }
    return [shown[piece] for piece in column]


def _alike(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut_at(piece: str, differs: set[int], cap: int) -> str:
    """Return a piece of at most so many characters that shows the places at which it differs, if it
    can: its beginning, or its beginning and what follows the last of those places.
    """
    last = max(differs, default=0)
    beginning = f"{piece[: cap - 1].rstrip()}…"
    if len(piece) <= cap:
        return piece
    if last < cap - 1:
        return beginning
    word, most = piece.rfind(" ", 0, last + 1) + 1, cap - 4
    start = word if last - word < most - 1 else last
    tail = piece[start:] if len(piece) - start <= most else f"{piece[start : start + most - 1]}…"
    head = piece[: cap - 1 - len(tail)]
    both = all(place < len(head) or place >= start for place in differs)
    return f"{head.rstrip()}…{tail}" if both else beginning


OFFLINE = {alt.FacetChart: _OfflineFacets}

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
    """Return the Vega-Lite configuration of every chart: `LIGHT` for print and pages, `DARK` for
    dark pages.
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
        "axisY": {"labelLimit": 300},
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
    """Return the chart with the house's configuration, which notebooks show without a network."""
    return _from_spec(chart.to_dict(), OFFLINE.get(type(chart), _OfflineLayers))


def _from_spec(spec: dict[str, Any], kind: Any = _OfflineLayers) -> alt.LayerChart:
    """Return a chart of this class from its specification."""
    finished: alt.LayerChart = kind.from_dict(spec | {"config": config()})
    return finished


Template = Callable[..., alt.LayerChart]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A chart before it is drawn: its template and its rows.

    Attributes:
        template: gives the chart without its rows, whose marks refer to the tables by name.
        options: of the template: few values, so that templates can be kept.
        tables: the rows by name; in charts with categories, in the order of the axis or legend.
        title, subtitle: of the chart.
        categories: by the name that stands for them in the template, such as ["$arms"] for the
            domain of a scale.
    """

    template: Template
    options: tuple[Any, ...]
    tables: dict[str, pd.DataFrame]
    title: str
    subtitle: str
    categories: dict[str, list[Any]] = field(default_factory=dict)

    def chart(self) -> alt.LayerChart:
        """Return an Altair chart."""
        return _from_spec(self.spec())

    def spec(self) -> dict[str, Any]:
        """Return a Vega-Lite specification without a configuration: milliseconds once the
        template is known.
        """
        filled: dict[str, Any] = _filled(
            _template_spec(self.template, self.options), self.categories
        )
        return filled | {
            "datasets": self._datasets(),
            "title": {"text": self.title, "subtitle": self.subtitle},
        }

    def _datasets(self) -> dict[str, list[dict[str, Any]]]:
        return {name: _plain_rows(frame) for name, frame in self.tables.items()}


def charted(drawing: Callable[P, Drawing]) -> Callable[P, alt.LayerChart]:
    """Return the function that gives the Altair chart of a drawing, with the same arguments."""

    @wraps(drawing)
    def chart(*args: P.args, **options: P.kwargs) -> alt.LayerChart:
        return drawing(*args, **options).chart()

    return chart


@lru_cache(maxsize=128)
def _template_spec(template: Template, options: tuple[Any, ...]) -> dict[str, Any]:
    # Altair would hold every part of every chart against its schema: that is for tests to do
    with debug_mode(False):
        spec: dict[str, Any] = template(*options).to_dict(validate=False)
    spec.pop("config", None)  # Altair's own
    return spec


def _filled(part: Any, categories: dict[str, list[Any]]) -> Any:
    """Return a copy of a specification with categories in place of their names."""
    if isinstance(part, dict):
        return {key: _filled(value, categories) for key, value in part.items()}
    if isinstance(part, list):
        known = categories.get(part[0]) if len(part) == 1 and isinstance(part[0], str) else None
        return [_filled(value, categories) for value in part] if known is None else known
    return part


def table(name: str) -> alt.Chart:
    """Return a layer that draws the rows of a table."""
    return alt.Chart(alt.NamedData(name=name))


def layered(*layers: Any, height: Any) -> alt.LayerChart:
    """Return the layers of a template, one upon the other."""
    chart: Any = alt.layer(*layers).properties(width=WIDTH, height=height)
    return chart  # type: ignore[no-any-return]


MOST_NAMED = 40  # arms that have a row each with their name
ROOM = 0.1  # of an axis of intervals on each side: names of perturbations stand over their marks


def within_axis(frame: pd.DataFrame, others: Any) -> tuple[list[float], pd.DataFrame]:
    """Return the ends of an axis of intervals, and the rows with infinite ends drawn up to them.

    Args:
        frame: columns `low`, `value` and `high`.
        others: further values on the axis.
    """
    drawn = np.append(frame[["low", "value", "high"]].to_numpy(dtype=np.float64), others)
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return [0.0, 1.0], frame
    room = ROOM * (float(np.ptp(finite)) or abs(float(finite[0])) or 1.0)
    ends = [float(finite.min()) - room, float(finite.max()) + room]
    reached = frame[["low", "high"]].clip(*ends)
    return ends, frame.assign(low=reached["low"], high=reached["high"])


def interval_scale() -> alt.Scale:
    """Return the scale whose ends are those of `within_axis`, named `$ends` in a template."""
    return alt.Scale(zero=False, nice=False, domain=["$ends"])


def state_marks(
    field: str, states: dict[str, tuple[str, str]], named: bool = True
) -> tuple[alt.Color, alt.Shape]:
    """Return the colour and the shape of marks by their state, with one legend if it is named."""
    colours, shapes = (list(values) for values in zip(*states.values(), strict=True))
    legend = alt.Legend(title=None, orient="bottom") if named else None
    return (
        alt.Color(f"{field}:N", scale=alt.Scale(domain=[*states], range=colours), legend=legend),
        alt.Shape(f"{field}:N", scale=alt.Scale(domain=[*states], range=shapes), legend=legend),
    )


def number_shown(field: str) -> alt.Tooltip:
    """Return the entry of a tooltip for a number."""
    return alt.Tooltip(f"{field}:Q", format=".4g")


def save(chart: Any, stem: str | os.PathLike[str], scale: float = 2.0) -> list[Path]:
    """Write `stem.png`, `stem.svg` and `stem.html` (interactive, self-contained), each whole or not
    at all.

    Args:
        chart: any Altair chart, or a Vega-Lite specification.
        stem: the path without its ending; folders that are missing are made.
        scale: pixels of the PNG for each unit of the chart.
    """
    import vl_convert

    base = Path(stem)
    if base.suffix in (".png", ".svg", ".html"):
        raise InputError(
            f"{base} has an ending already: give {base.with_suffix('')}, and all "
            f"three files are written"
        )
    spec = chart if isinstance(chart, dict) else chart.to_dict()
    contents = {
        ".png": vl_convert.vegalite_to_png(spec, scale=scale),
        ".svg": vl_convert.vegalite_to_svg(spec).encode(),
        ".html": _page(spec).encode(),
    }
    return [
        write_whole(base.with_name(base.name + ending), content)
        for ending, content in contents.items()
    ]
