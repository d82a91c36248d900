"""The house as docs/architecture.md draws it: who may use whom, and which rooms are pure."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import house

import surefoot
from tests.documents import ROOT

PACKAGE = Path(surefoot.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ENTRANCE = {"__init__", "__main__"}  # the doors: names of every room, and the command line
DRAWN = [PACKAGE, PACKAGE / "study"]  # the packages whose rooms the page draws
# conveniences of an upper room that load what they need when they are called
LAZY = {PACKAGE: {("algorithms/result.py", "view")}, PACKAGE / "study": set[tuple[str, str]]()}
WORLD = set(
    """
    asyncio builtins concurrent ctypes datetime io logging multiprocessing os pathlib platform
    random secrets shutil signal socket sqlite3 subprocess sys tempfile threading time uuid warnings
    """.split()  # noqa: SIM905
)
WORDS = {"breakpoint", "eval", "exec", "input", "open", "print"}
EXPLICIT = {"BitGenerator", "Generator", "PCG64", "Philox", "SeedSequence", "default_rng"}


def _rooms(package: Path) -> list[set[str]]:
    """The rooms of a package from the top of its drawing to the ground, those of one line
    together.
    """
    title = re.escape(str(package.relative_to(PACKAGE.parent)))
    drawing = re.search(rf"```text\nsrc/{title}/\n(.*?)```", PAGE, re.DOTALL)
    assert drawing is not None
    names = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    return [
        {name for name in re.findall(r"(\w+)(?:\.py|/)", line) if name in names}
        for line in drawing[1].splitlines()
    ]


def _pure() -> list[Path]:
    """The sources of the rooms that the page calls pure."""
    sentence = re.search(r"((?:`[\w./]+`(?:, | and )?)+) are pure", PAGE)
    assert sentence is not None
    places = [PACKAGE / name for name in re.findall(r"`([\w./]+)`", sentence[1])]
    assert all(place.exists() for place in places)
    return [file for place in places for file in (sorted(place.rglob("*.py")) or [place])]


def imported(source: str, package: str = "surefoot") -> Iterator[str]:
    """The rooms of a package that a source uses, wherever and for whatever reason it imports
    them.
    """
    home = f"{package}."
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            inside = [alias.name.removeprefix(home) for alias in node.names if home in alias.name]
            yield from (name.split(".")[0] for name in inside)
        elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(home):
            inside = f"{node.module}."[len(home) :].split(".")[:-1]
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            yield from inside[:1] or [home_of(name) for name in names]


def home_of(name: str) -> str:
    """The room of what `from surefoot import name` gives: itself, or where the name is made."""
    if name not in surefoot.__all__:
        return name
    return str(getattr(surefoot, name).__module__.split(".")[1])


def touches(source: str) -> list[str]:
    """What a source does that a pure one must not."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in WORLD]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module or ""] if (node.module or "").split(".")[0] in WORLD else []
        elif isinstance(node, ast.Name) and node.id in WORDS:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("random"):
            found += [] if node.attr in EXPLICIT else [ast.unparse(node)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
            found += [] if node.args or node.keywords else ["default_rng()"]
    return found


@pytest.mark.parametrize("package", DRAWN, ids=lambda package: package.name)
def test_every_room_is_drawn_once(package: Path) -> None:
    drawn = [name for line in _rooms(package) for name in sorted(line)]
    assert len(drawn) == len(set(drawn))
    there = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    assert there - ENTRANCE - set(drawn) == set(), "draw these rooms in docs/architecture.md"


@pytest.mark.parametrize("package", DRAWN, ids=lambda package: package.name)
def test_rooms_use_rooms_further_up_only(package: Path) -> None:
    level = {name: number for number, line in enumerate(_rooms(package)) for name in line}
    dotted = ".".join(package.relative_to(PACKAGE.parent).parts)
    wrong = set()
    for file in package.rglob("*.py"):
        place = file.relative_to(package)
        room = place.parts[0].removesuffix(".py")
        if room in level:
            used = set(imported(file.read_text(), dotted)) & set(level) - {room}
            wrong |= {(str(place), other) for other in used if level[other] > level[room]}
    assert wrong == LAZY[package]


@pytest.mark.parametrize("file", _pure(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_pure_rooms_touch_nothing_outside(file: Path) -> None:
    assert touches(file.read_text()) == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import os.path", "os.path"),
        ("def f():\n    from time import sleep", "time"),
        ("print(1)", "print"),
        ("with open('x') as f: pass", "open"),
        ("import numpy as np\nnp.random.normal()", "np.random.normal"),
        ("import numpy as np\nnp.random.default_rng()", "default_rng()"),
    ],
)
def test_a_touch_is_noticed(source: str, seen: str) -> None:
    assert touches(source) == [seen]


def test_explicit_randomness_is_none() -> None:
    assert touches("import numpy as np\nnp.random.default_rng(np.random.SeedSequence(1))") == []


@pytest.mark.parametrize(
    "source",
    [
        "from surefoot.study.toml.config import StudyConfig",
        "from surefoot import Study",
        "def f():\n    import surefoot.study",
        "if TYPE_CHECKING:\n    from surefoot.study import Study",
    ],
)
def test_an_import_is_noticed(source: str) -> None:
    assert list(imported(source)) == ["study"]


def test_an_import_within_a_package_is_noticed() -> None:
    source = "from surefoot.study.run.worker import Board\nfrom surefoot.studying import other"
    assert list(imported(source, "surefoot.study")) == ["run"]


def test_every_file_of_prime_is_on_a_readers_path_once() -> None:
    section = PAGE.split("## Reading PRIME")[1].split("\n## ")[0]
    told = re.findall(r"`([\w/]+\.py)`", section)
    home = PACKAGE / "plan"
    there = {str(file.relative_to(home)) for file in home.rglob("*.py")}
    assert sorted(told) == sorted(there - {"__init__.py"})


def test_only_the_command_line_speaks_of_its_options() -> None:
    told = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.search(r"(?<![\w-])--[a-z]", node.value)
    }
    outside = {name for name in told if not name.startswith(("commands/", "cli.py"))}
    assert outside == {"__init__.py"}  # which says why `surefoot --help` is quick


COLUMNS = 100


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_lines_are_short(folder: str) -> None:
    """Whatever stands at their end: the linter lets remarks to itself go on."""
    long = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if sum(not unicodedata.combining(letter) for letter in line) > COLUMNS
    ]
    assert long == []


def test_docstrings_name_the_noun() -> None:
    """Name what it is, or begin with a verb: no sentence opens with What, How, Whether or Who."""
    assert house.riddles() == []


def test_no_class_name_occurs_twice() -> None:
    assert house.classes_named_alike() == {}


def test_files_are_no_splinters() -> None:
    """Whoever is shorter than a screen belongs to a file that is one idea with it."""
    assert len(house.splinters()) <= 15, house.splinters()


def test_a_pull_walks_through_the_rooms_of_the_page() -> None:
    """The numbers that `python -m benchmarks house` prints are of walks that end."""
    walk = house.one_phase(house.PAIRS)
    assert {"algorithms/base.py", "certify/certifier.py", "certify/walk.py"} <= walk
    assert not any(place.startswith(("study/", "view/", "commands/")) for place in walk)


def test_what_is_added_is_named_where_the_page_says() -> None:
    section = PAGE.split("## To add something")[1].split("\n## ")[0]
    named = re.findall(r"`([A-Z_]+)` in `([\w/]+\.py)`", section)
    assert len(named) == 6
    for name, file in named:
        assert re.search(rf"^{name}\b", (PACKAGE / file).read_text(), re.MULTILINE), (name, file)
    for test in re.findall(r"`(tests/[\w/]+\.py)`", section):
        assert (ROOT / test).is_file(), test


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_lines_of_pages_are_short(page: Path) -> None:
    """Prose has at most 120 letters a line; code, tables and formulas are as wide as they are."""
    others = r"^ *(```|~~~).*?^ *\1$|^<!--.*?-->$|^\$\$.*?\$\$$"
    prose = re.sub(others, "", page.read_text(), flags=re.M | re.S)
    wide = ("|", "<", "$", "[", "![", "*Withdrawn")
    lines = [line for line in prose.splitlines() if not line.startswith("    ")]
    long = [line for line in lines if len(line) > 120 and not line.lstrip().startswith(wide)]
    assert not long, long[:3]
