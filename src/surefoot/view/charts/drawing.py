"""A chart as a template and its rows: the template is made once, so that a page can redraw with new
rows quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from surefoot.view.charts.frames import plain_rows
from surefoot.view.charts.theme import WIDTH, from_spec

Template = Callable[..., alt.LayerChart]


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn, and how.

    Attributes:
        template: gives the chart without its rows, whose marks refer to the tables by name.
        options: of the template: few values, so that templates can be kept.
        tables: the rows by name; in charts with categories, in the order of the axis or legend.
        title, subtitle: what the chart says.
        categories: by the name that stands for them in the template, such as ["$arms"] for the
            domain of a scale.
    """

    template: Template
    options: tuple[Any, ...]
    tables: dict[str, pd.DataFrame]
    title: str
    subtitle: str
    categories: dict[str, list[str]] = field(default_factory=dict)

    def chart(self) -> alt.LayerChart:
        """As an Altair chart."""
        return from_spec(self.spec())

    def spec(self) -> dict[str, Any]:
        """The same as a Vega-Lite specification without a configuration: milliseconds once the
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
        return {name: plain_rows(frame) for name, frame in self.tables.items()}


@lru_cache(maxsize=128)
def _template_spec(template: Template, options: tuple[Any, ...]) -> dict[str, Any]:
    # Altair would hold every part of every chart against its schema: that is for tests to do
    with debug_mode(False):
        spec: dict[str, Any] = template(*options).to_dict(validate=False)
    spec.pop("config", None)  # Altair's own
    return spec


def _filled(part: Any, categories: dict[str, list[str]]) -> Any:
    """A copy of a specification with categories in place of their names."""
    if isinstance(part, dict):
        return {key: _filled(value, categories) for key, value in part.items()}
    if isinstance(part, list):
        known = categories.get(part[0]) if len(part) == 1 and isinstance(part[0], str) else None
        return [_filled(value, categories) for value in part] if known is None else known
    return part


def table(name: str) -> alt.Chart:
    """A layer that draws the rows of a table."""
    return alt.Chart(alt.NamedData(name=name))


def layered(*layers: Any, height: Any) -> alt.LayerChart:
    """The layers of a template, one upon the other."""
    chart: Any = alt.layer(*layers).properties(width=WIDTH, height=height)
    return chart  # type: ignore[no-any-return]
