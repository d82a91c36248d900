"""The paper: what it cites is in its bibliography, and it is as short as the journal wants it."""

from __future__ import annotations

import re

from tests.documents import ROOT

TEXT = (ROOT / "paper" / "paper.md").read_text()
ENTRIES = re.findall(r"^@\w+\{([^,]+),$", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE)


def test_what_is_cited_is_listed_and_what_is_listed_is_cited() -> None:
    body = TEXT.split("---", 2)[2]
    assert set(re.findall(r"@([a-z]+\d*)", body)) == set(ENTRIES)
    assert len(ENTRIES) == len(set(ENTRIES))


def test_it_has_the_sections_that_the_journal_asks_for() -> None:
    for section in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"\n# {section}\n" in TEXT


def test_it_is_short() -> None:
    assert 500 < len(TEXT.split()) < 1000
