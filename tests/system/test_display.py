import pandas as pd
import pytest

from surefoot.system.progress import cell, printable, spreadsheet_safe


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb\b", "a\\rb\\x08"),
        ("left \u202e thgir", "left \\u202e thgir"),
        ("half \ud800", "half \\ud800"),
        ("two\nlines\tžluť 🦶", "two\nlines\tžluť 🦶"),
    ],
)
def test_nothing_steers_a_terminal(given: str, shown: str) -> None:
    assert printable(given) == shown


def test_formulas_become_text_and_numbers_stay_numbers() -> None:
    formulas = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx"]
    assert [cell(text) for text in formulas] == [f"'{text}" for text in formulas]
    assert [cell(value) for value in ("calm", -1.5, None)] == ["calm", -1.5, None]


def test_a_table_is_safe_in_its_headers_too() -> None:
    frame = pd.DataFrame({"=x": [-1.0, 2.0], "arm": ["=cmd|x", "calm"], "error": [None, "-1"]})
    safe = spreadsheet_safe(frame)
    assert safe.columns.tolist() == ["'=x", "arm", "error"]
    assert safe["'=x"].tolist() == [-1.0, 2.0]
    assert safe["arm"].tolist() == ["'=cmd|x", "calm"]
    assert safe["error"].tolist()[1] == "'-1"
    assert frame["arm"].tolist()[0] == "=cmd|x"
