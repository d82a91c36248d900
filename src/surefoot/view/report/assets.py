"""Style sheet and scripts, ours and Vega's: read or made once, from what is installed."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from surefoot.view.charts.offline import vega_script

__all__ = ["charts_script", "fingerprint", "style", "vega_script"]

FOLDER = Path(__file__).parent / "assets"


@cache
def style() -> str:
    return (FOLDER / "style.css").read_text(encoding="utf-8")


@cache
def charts_script() -> str:
    """Draws the charts of a page."""
    return (FOLDER / "charts.js").read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    """What a Content-Security-Policy calls this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
