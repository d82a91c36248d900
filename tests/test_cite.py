"""One way to cite, wherever it is read: the command, CITATION.cff, the README and the package
agree.
"""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

import surefoot
from surefoot.commands import cite
from tests.documents import ROOT

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
PAPER = CITATION["preferred-citation"]


def test_the_command_prints_what_the_citation_file_says(capsys: pytest.CaptureFixture[str]) -> None:
    cite.command()
    text = capsys.readouterr().out
    authors = [f"{author['family-names']}, {author['given-names']}" for author in PAPER["authors"]]
    for part in (
        CITATION["title"],
        CITATION["version"],
        PAPER["title"],
        " and ".join(authors),
        PAPER["journal"],
    ):
        assert part in text
    assert str(PAPER["year"]) in text
    assert str(CITATION["date-released"].year) in text


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    latest = re.search(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest is not None
    assert {surefoot.__version__, project["version"], CITATION["version"], latest[1]} == {
        surefoot.__version__
    }


def test_the_readme_shows_the_same_entry() -> None:
    assert cite.PAPER in (ROOT / "README.md").read_text()
