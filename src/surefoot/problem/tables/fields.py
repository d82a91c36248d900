"""CSV files as they are written: every field a text."""

from __future__ import annotations

import csv
from pathlib import Path

from surefoot.errors import InputError


def read_fields(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV, every field as it is written; lines left empty are skipped.

    A table that is not rectangular is refused: a field too many or too few shifts the others.
    """
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: give the path of a CSV table")
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if not row:
                    continue
                if not header:
                    header = _distinct(row)
                elif len(row) != len(header):
                    raise InputError(
                        f"line {reader.line_num} has {len(row)} fields, the header {len(header)}"
                    )
                else:
                    rows.append(row)
        if not header:
            raise InputError("it is empty")
    except (csv.Error, UnicodeDecodeError, OSError, InputError) as error:
        raise InputError(
            f"{str(path)!r} is not a CSV table in UTF-8 ({error}): give comma-separated columns "
            "with a header, and quotes round a field that holds a comma"
        ) from None
    return header, rows


def _distinct(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the column {twice!r} stands twice")
    return names
