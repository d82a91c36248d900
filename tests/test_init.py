"""The table of contents: every public name once, loaded when it is asked for."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from types import ModuleType

import pytest

import surefoot
from tests.documents import ROOT

PUBLISHED = re.findall(
    r"^\.\. auto(\w+):: (surefoot[\w.]*)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE
)

ROOMS = {"algorithms"}  # modules whose names are found in them


def test_every_public_name_is_there_once():
    assert len(set(surefoot.__all__)) == len(surefoot.__all__)
    assert dir(surefoot) == sorted(surefoot.__all__)
    for name in set(surefoot.__all__) - ROOMS:
        assert not isinstance(getattr(surefoot, name), ModuleType), name


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="'surefoot' has no attribute 'complexities'"):
        surefoot.complexities  # noqa: B018


def test_names_stay_what_they_are_whatever_is_imported_first():
    code = (
        "import surefoot.design.hardness, surefoot.study.before.plan, surefoot as sf\n"
        "from surefoot import complexity\n"
        "assert sf.complexity is complexity is surefoot.design.hardness.complexity\n"
        "assert sf.Complexity is surefoot.design.hardness.Complexity"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, surefoot; assert not {'numpy', 'scipy', 'numba', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("kind", "name"), PUBLISHED, ids=[name for _, name in PUBLISHED])
def test_what_the_api_page_prints_can_be_used(kind, name):
    if kind == "module":
        importlib.import_module(name)
        return
    # as a user would write it after `import surefoot`, or after importing the module it names
    home, _, last = name.rpartition(".")
    assert callable(getattr(importlib.import_module(home), last))


def test_the_api_page_says_what_each_name_is_where_it_is_not_built():
    rows = (ROOT / "docs" / "api.md").read_text().splitlines()
    told = {row.split("`")[1] for row in rows if row.startswith("| `")}
    named = {name.rpartition(".")[2] for kind, name in PUBLISHED if kind != "module"}
    assert named == told


def test_the_api_page_has_every_public_name():
    printed = {name.removeprefix("surefoot.") for _, name in PUBLISHED}
    assert set(surefoot.__all__) - ROOMS - {"__version__"} <= printed
