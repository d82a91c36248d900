"""Put what `surefoot reproduce bolus` wrote into the docs: `python docs/dosing.py results`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
BEGINS, ENDS = "<!-- bolus-summary.md begins -->\n", "<!-- bolus-summary.md ends -->"
FIGURES = ("bolus.svg", "bolus-regret.svg")


def put(results: Path) -> None:
    """The tables between their marks in reproduction.md, and the figures beside it."""
    page = DOCS / "reproduction.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGINS)
    _, after = rest.split(ENDS)
    tables = (results / "bolus-summary.md").read_text(encoding="utf-8")
    page.write_text(before + BEGINS + tables + ENDS + after, encoding="utf-8")
    for name in FIGURES:
        shutil.copyfile(results / name, DOCS / "images" / name)


if __name__ == "__main__":
    put(Path(sys.argv[1]))
