"""Charts as files: PNG and SVG for print, and a page that opens without the internet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import vl_convert

from surefoot.errors import InputError
from surefoot.system.drafts import replaced_file
from surefoot.view.charts.offline import page


def save(chart: Any, stem: str | os.PathLike[str], scale: float = 2.0) -> list[Path]:
    """Write `stem.png`, `stem.svg` and `stem.html` (interactive, self-contained), each whole or not
    at all.

    Args:
        chart: any Altair chart, or a Vega-Lite specification.
        stem: the path without its ending; folders that are missing are made.
        scale: pixels of the PNG for each unit of the chart.
    """
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
        ".html": page(spec).encode(),
    }
    return [
        write_whole(base.with_name(base.name + ending), content)
        for ending, content in contents.items()
    ]


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file so that nobody ever sees half of it: beside it first, then in its place."""
    with replaced_file(path) as draft:
        draft.write_bytes(content)
    return path
