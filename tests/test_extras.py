"""The core of surefoot runs without its extras, and whatever needs one says so in a sentence."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from surefoot.errors import EXTRAS
from tests.documents import ROOT
from tests.waiting import PATIENCE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BARE = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {[*EXTRAS, "dask"]!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from surefoot.cli import main

for line in sys.stdin:
    try:
        main(line.split())
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print("ended with", code, flush=True)
    print("ended", file=sys.stderr, flush=True)
"""
STUDY = """
delta = 0.05
seed = 1
noise = { kind = "gaussian", scale = 0.1 }
arms.grid = { dose = [1.0, 3.0] }
perturbations.list = [{ name = "fasted" }, { name = "after a meal", dose = 0.5 }]
simulator.python = "model:simulate"
"""
MODEL = """
def simulate(pull):
    return pull.parameters["dose"] + 0.1 * pull.rng().normal()
"""
WORK = [
    "init new.toml",
    "pilot study.toml",
    "plan study.toml",
    "run study.toml --quiet --processes 1",
    "status study.db",
    "verify study.db",
    "export study.db -o pulls.csv",
    "export study.db -o study.json",
    "backup study.db copy.db",
    "cite",
]
ALONE = {"all", "dev"}  # no extras of their own
NEED = {
    "report study.db": "view",
    "dashboard study.db": "view",
    "export study.db --arms": "view",
    "export study.db -o pulls.parquet": "parquet",
    "bolus adult#001": "view",
    "reproduce unit-sphere --runs 1": "view",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """The exit code of each command where no extra is installed, and what it said on stderr."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "study.toml").write_text(STUDY)
    (folder / "model.py").write_text(MODEL)
    done = subprocess.run(
        [sys.executable, "-c", BARE],
        cwd=folder,
        input="\n".join([*WORK, *NEED]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    codes = re.findall(r"^ended with (\d)$", done.stdout, re.MULTILINE)
    return codes, done.stderr.split("ended\n")


def test_finding_an_answer_needs_no_extra(said: tuple[list[str], list[str]]) -> None:
    codes = said[0]
    assert dict(zip(WORK, codes, strict=False)) == dict.fromkeys(WORK, "0"), said[1]
    assert codes[len(WORK) :] == ["2"] * len(NEED)


def test_what_needs_an_extra_says_which(said: tuple[list[str], list[str]]) -> None:
    for (command, extra), words in zip(NEED.items(), said[1][len(WORK) :], strict=False):
        (line,) = words.splitlines()
        assert f"pip install 'surefoot[{extra}]'" in line, command


def test_extras_are_those_that_messages_name() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS.values()) == set(extras) - {"all", "dev"}
    assert extras["all"] == [f"surefoot[{','.join(name for name in extras if name not in ALONE)}]"]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_pages_say_to_install_everything(page: str) -> None:
    assert "[all]" in (ROOT / page).read_text()


def test_packages_are_imported_by_those_who_say_so() -> None:
    """No file of the core imports a package of an extra when it is itself imported."""
    source = ROOT / "src" / "surefoot"
    pattern = re.compile(rf"^(?:import|from) (?:{'|'.join(EXTRAS)})\b", re.MULTILINE)
    found = {
        file.relative_to(source).parts[0]
        for file in source.rglob("*.py")
        if pattern.search(file.read_text())
    }
    assert found <= {"view", "paper", "guides"}


def test_floors_are_whole() -> None:
    """Every dependency has one, and only one, which `make test-oldest` installs."""
    optional = PROJECT["optional-dependencies"]
    written = {text for name, own in optional.items() if name not in ALONE for text in own}
    for text in written | set(PROJECT["dependencies"]):
        assert re.fullmatch(r"[\w-]+>=[\w.]+", text), text
