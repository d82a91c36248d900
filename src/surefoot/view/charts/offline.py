"""Charts that need no network: Vega comes from the package that is installed with us."""

from __future__ import annotations

import json
import uuid
from functools import cache
from typing import Any

import altair as alt


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script; it takes a second or two to put together."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("Object.assign(window, { vegaEmbed, vegaLite, vega });")
    return bundle.replace("</script", "<\\/script")


class Offline:
    """A chart that notebooks show with the installed Vega; Altair's own way fetches it from the
    internet. A renderer that was chosen with `altair.renderers.enable` is left in charge.
    """

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        return {"text/html": cell(self.to_dict())}  # type: ignore[attr-defined]


class OfflineLayers(Offline, alt.LayerChart):
    """Marks upon each other, shown without a network."""


class OfflineFacets(Offline, alt.FacetChart):
    """The same chart for each group, shown without a network."""


def cell(spec: dict[str, Any]) -> str:
    """A chart as the output of a notebook's cell: all that it needs is in it."""
    return _drawn(spec, f"surefoot-{uuid.uuid4().hex}")


def page(spec: dict[str, Any]) -> str:
    """A chart as a page of its own, the same to the bit whenever it is written."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    body = _drawn(spec, "chart")
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _drawn(spec: dict[str, Any], place: str) -> str:
    text = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
    draw = f'vegaEmbed("#{place}", {text}, {{ actions: false }});'
    return f'<div id="{place}"></div><script>{vega_script()}</script><script>{draw}</script>'
