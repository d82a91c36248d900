"""Names and messages where they could do harm: in a terminal, and in a spreadsheet."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes what begins with one of these
KEPT = "\n\t"
CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction, half characters, separators

T = TypeVar("T")


def printable(text: object) -> str:
    """Text for a terminal: characters that would steer it are written out, as \\x1b is."""
    return "".join(map(_visible, str(text)))


def cell(value: T) -> T | str:
    """A field for a CSV: text that a spreadsheet would take for a formula gets an apostrophe."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(FORMULA) else value


def spreadsheet_safe(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with every text and every header as `cell` gives it."""
    safe = frame.rename(columns=cell)
    for number, kind in enumerate(safe.dtypes):
        if kind.kind in "OTSU":
            safe.isetitem(number, safe.iloc[:, number].map(cell).to_list())
    return safe


def _visible(character: str) -> str:
    if character in KEPT or unicodedata.category(character) not in CATEGORIES:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()
