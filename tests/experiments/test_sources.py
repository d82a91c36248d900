"""The digest of what decides a figure: it follows uses, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from surefoot.experiments import sources
from surefoot.experiments.sources import _definitions, digest
from surefoot.paper import figure1
from surefoot.paper.bolus import tables

ROOT = "surefoot.algorithms.robust_rage:RobustRage"
FILES = {
    "a.py": """
        \"\"\"A.\"\"\"
        from surefoot.b import LIMIT, unused
        from surefoot import b as other

        def root(x: int) -> int:
            \"\"\"Say.\"\"\"
            return helper(x) + other.deep()

        def helper(x):
            if x < 0:
                raise ValueError("too small")
            return min(x, LIMIT)  # a remark

        def stranger():
            return 1
    """,
    "b.py": """
        from surefoot.view import shown

        LIMIT = 3

        def deep():
            return shown(LIMIT)

        def unused():
            return 2
    """,
    "view.py": """
        def shown(x):
            return x
    """,
}


def forget() -> None:
    """Read all files anew."""
    for name in ("_module", "_path", "_home", "_named", "_text_of", "_mark"):
        getattr(sources, name).cache_clear()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text("\n".join(line[8:] for line in text.splitlines()))
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    monkeypatch.setattr(sources, "SILENT", ("surefoot.view",))
    forget()
    yield tmp_path
    forget()


def changed(house: Path, name: str, old: str, new: str) -> bool:
    """Whether the digest of a's root changes with a file."""
    before, text = digest("surefoot.a:root"), (house / name).read_text()
    assert old in text
    (house / name).write_text(text.replace(old, new))
    ast.parse((house / name).read_text())
    forget()
    return digest("surefoot.a:root") != before


def test_definitions_are_followed_through_modules(house: Path) -> None:
    places = [("a", "helper"), ("a", "root"), ("b", "LIMIT"), ("b", "deep")]
    assert _definitions("surefoot.a:root") == [(f"surefoot.{m}", n) for m, n in places]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("b.py", "LIMIT = 3", "LIMIT = 4"),
        ("a.py", "x < 0", "x < 1"),
        ("a.py", "+ other", "- other"),
    ],
)
def test_what_decides_changes_the_digest(house: Path, name: str, old: str, new: str) -> None:
    assert changed(house, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.py", "  # a remark", "  # another"),
        ("a.py", "Say.", "Say it."),
        ("a.py", "too small", "below 0"),
        ("a.py", "x: int", "x: float"),
        ("a.py", "return 1", "return 7"),
        ("a.py", "return helper(x) + other", "return (\n        helper(x) + other"),
        ("b.py", "return 2", "return 3"),
        ("view.py", "return x", "return 2 * x"),
        ("a.py", "helper", "aide"),
        ("b.py", "        LIMIT = 3"[8:], "LIMIT = 3  # pulls"),
    ],
)
def test_nothing_else_does(house: Path, name: str, old: str, new: str) -> None:
    if "(\n" in new:
        new, old = f"{new}.deep()\n    )", f"{old}.deep()"
    assert not changed(house, name, old, new)


def test_a_definition_may_move_and_be_renamed(house: Path) -> None:
    before = digest("surefoot.a:root")
    a, b = house / "a.py", house / "b.py"
    a.write_text(
        a.read_text().replace("import LIMIT, unused", "import unused").replace("LIMIT", "MOST")
    )
    a.write_text(a.read_text() + "\nMOST = 3\n")
    b.write_text(
        b.read_text().replace("LIMIT = 3", "from surefoot.a import MOST").replace("LIMIT", "MOST")
    )
    forget()
    assert digest("surefoot.a:root") == before


def test_the_papers_algorithms_rest_on_their_designs_and_not_on_prime() -> None:
    found = _definitions(ROOT)
    assert ("surefoot.design.designs", "robust_xy") in found
    assert ("surefoot.algorithms.confidence", "paper_threshold") in found
    assert not [place for place in found if "prime" in place[0]]
    assert _definitions("surefoot.plan.prime:Prime")


def test_an_unknown_root_is_refused() -> None:
    with pytest.raises(ValueError, match="no module of surefoot"):
        digest("surefoot.nothing:here")
    with pytest.raises(ValueError, match="is not defined"):
        digest("surefoot.experiments.instances:nothing")


def test_all_that_the_papers_rows_rest_on_is_there() -> None:
    roots = {root for entrant in figure1.ENTRANTS for root in entrant.roots}
    roots |= {root for label in tables.LABELS for root in tables._roots_of(label)}
    assert len({digest(root) for root in roots}) == len(roots)
