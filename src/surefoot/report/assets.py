"""Style sheet and scripts, ours and Vega's: read or made once, from what is installed."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "assets"


@cache
def style() -> str:
    return (FOLDER / "style.css").read_text(encoding="utf-8")


@cache
def charts_script() -> str:
    """Draws the charts of a page."""
    return (FOLDER / "charts.js").read_text(encoding="utf-8")


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script; it takes a second or two to put together."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("Object.assign(window, { vegaEmbed, vegaLite, vega });")
    return bundle.replace("</script", "<\\/script")


def fingerprint(text: str) -> str:
    """What a Content-Security-Policy calls this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
